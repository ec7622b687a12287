"""Decides what is compared. It sees Images and Vectors, never Ratings: design before outcome."""
