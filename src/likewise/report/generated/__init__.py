"""The report of a text-to-image audit: its rows, its figure and its page. It computes no statistic."""
