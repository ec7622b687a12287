"""The look of all figures: colors that follow the page, type, legends, and SVG that is the same for the same input."""

from __future__ import annotations

import html
import io
import re
import warnings
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Placeholders: in a page they become the page's own colors, so that a figure follows light and dark mode.
INK, FAINT, FOCAL, OTHER, TRUE = "#1b1f24", "#8b949e", "#0b6e75", "#b3541e", "#6b3fa0"
WIDE, HALF, NARROW = 7.2, 5.0, 3.9  # inches: a desk, half of it, a phone
_VARIABLES = {INK: "--ink", FAINT: "--faint", FOCAL: "--focal", OTHER: "--other", TRUE: "--true"}
STYLE: dict[Any, Any] = {
    "font.family": "sans-serif", "font.size": 10, "svg.fonttype": "none",
    "axes.edgecolor": FAINT, "axes.labelcolor": INK, "text.color": INK, "xtick.color": INK, "ytick.color": INK,
    "axes.spines.top": False, "axes.spines.right": False, "figure.facecolor": "none", "axes.facecolor": "none",
    "savefig.facecolor": "none",
}  # fmt: skip


def legend(figure: Figure, *, columns: int = 2) -> None:
    """Explain above the figure what its marks mean."""
    figure.legend(loc="outside upper left", ncols=columns, frameon=False, fontsize=9.5, handletextpad=0.3)


def label_axis(axes: Axes, words: str, width: float) -> None:
    """Label the horizontal axis; in a narrow figure the label ends with the axis, so that it is not clipped."""
    axes.set_xlabel(words, loc="right" if width <= NARROW else "center", fontsize=8.5 if width <= NARROW else 10)


def broken(name: str, width: float) -> str:
    """Break the name of a design in a narrow figure."""
    return text(name).replace(" (", "\n(", 1).replace(", un", ",\nun") if width <= NARROW else text(name)


def text(name: object) -> str:
    """Make a name readable; an unescaped dollar sign would start a formula."""
    return str(name).replace("_", " ").replace("$", r"\$")


def to_svg(figure: Figure, description: str) -> str:
    """Return the figure for a page: text stays text, colors are the page's, the same input gives the same bytes."""
    buffer = io.StringIO()
    salt = f"likewise {figure.get_figwidth()}"  # the wide and the narrow figure must not share ids
    with mpl.rc_context({**STYLE, "svg.hashsalt": salt}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")  # the reader's fonts render it, not ours
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    svg = svg[svg.index("<svg") :]
    for color, name in _VARIABLES.items():
        svg = re.sub(re.escape(color), f"var({name})", svg, flags=re.IGNORECASE)
    svg = re.sub(r"font: ([\d.]+)px [^;\"]*", r"font-size: \1px", svg)  # the page's own typeface
    return svg.replace("<svg ", f'<svg role="img" aria-label="{html.escape(description)}" ', 1)
