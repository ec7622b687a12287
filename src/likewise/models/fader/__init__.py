"""The fader network: its layers, data, training and editor."""
