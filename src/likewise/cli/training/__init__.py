"""The commands that fit something: directions, editor, fader."""
