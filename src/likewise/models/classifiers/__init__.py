"""Classifiers: what a network calls a picture or a face. They are under audit here; none of them is a labeller."""
