"""Score files of strangers: which columns they have, and whether their scores are similarities or distances."""
