"""Vision-language models behind an OpenAI-compatible chat endpoint, as raters."""
