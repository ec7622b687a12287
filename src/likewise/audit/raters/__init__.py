"""The raters of a plan, the services among them, and answers that were given elsewhere."""
