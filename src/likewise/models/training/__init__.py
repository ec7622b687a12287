"""Training of the shipped encoder and exits."""
