"""Score files of other tools: which columns they have, and whether their scores are similarities or distances."""
