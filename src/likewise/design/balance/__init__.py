"""How comparable the two groups are, before and after matching or weighting."""
