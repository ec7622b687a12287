"""Draws what the tables say. It computes nothing."""

from likewise.report.figures import gap_plot, love_plot, rate_plot

__all__ = ["gap_plot", "love_plot", "rate_plot"]
