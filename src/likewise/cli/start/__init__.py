"""The commands of the first minutes: scores, init by questions, doctor."""
