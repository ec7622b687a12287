"""Decides what is compared. It sees Faces and Vectors, never Ratings: design before outcome."""
