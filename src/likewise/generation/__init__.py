"""Text-to-image models: prompts, image sources, and the drawing of an audit's images."""
