"""Formats what the tables state. It computes no statistic."""

from likewise.report.figures.estimates import gap_plot, love_plot, rate_plot
from likewise.report.figures.verification import det_plot
from likewise.runtime.callable_module import make_callable

__all__ = ["det_plot", "gap_plot", "love_plot", "rate_plot"]

make_callable(__name__, "likewise.report.page:write_report")
