"""A feed-forward editor, distilled from the embedded generator."""
