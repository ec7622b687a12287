"""The commands of the first minutes: demo, scores, init by questions, check, doctor."""
