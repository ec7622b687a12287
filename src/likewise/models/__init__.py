"""The torch room: one self-contained file a network, and what they share."""
