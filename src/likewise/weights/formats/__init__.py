"""Safe readers of foreign file formats: nothing in a file is executed."""
