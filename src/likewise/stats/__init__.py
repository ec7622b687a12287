"""Statistics shared by design and analysis: intervals, resampling, regression, shrinkage."""
