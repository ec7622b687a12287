"""People: what they were asked and what they answered."""
