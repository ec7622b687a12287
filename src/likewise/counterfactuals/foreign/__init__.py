"""Edits that were made elsewhere: by an endpoint, or in a ready set of pictures."""
