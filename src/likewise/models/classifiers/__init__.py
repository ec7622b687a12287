"""Classifiers of images or faces: objects of audits, not sources of labels."""
