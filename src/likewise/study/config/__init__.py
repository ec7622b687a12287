"""The study plan: sections, questions, reading, validation, hash."""
