"""Image editors behind an OpenAI-compatible images-edit endpoint."""
