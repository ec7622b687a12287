"""The audit folder: artifacts, their sidecars, and what is kept between runs."""
