"""From Ratings to Estimates and the report."""
