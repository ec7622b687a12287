"""Draws docs/figures/*.svg, the gallery of figures, from the audit of the toy demo: draw_figures.py AUDIT."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

import likewise as lw
from likewise.report.figures.designs import design_plot
from likewise.report.figures.style import STYLE
from likewise.report.figures.verification import det_plot
from likewise.report.sections.findings.designs import panels

FIGURES = Path(__file__).parents[1] / "docs" / "figures"
BY = ("smiling", "perceived_gender")


def main() -> None:
    """Draw every figure; text stays text, on white, so that dark pages show it too."""
    audit = lw.Audit(Path(sys.argv[1]))
    estimates, contrast, groups = audit.estimates, audit.plan.contrast, audit.by_group(*BY)
    drawn: dict[str, Callable[[], Figure]] = {
        "love": lambda: lw.love_plot(audit.balance),
        "designs": lambda: design_plot(panels(estimates, contrast), contrast),
        "gap": lambda: lw.gap_plot(estimates, "world-recognizer: distance"),
        "det": lambda: det_plot(estimates, "world-recognizer"),
        "groups": lambda: lw.group_plot(groups, "world-recognizer: distance", f"by {' x '.join(BY)}"),
        "rates": lambda: lw.rate_plot(estimates),
    }
    FIGURES.mkdir(exist_ok=True)
    for name, draw in drawn.items():
        with mpl.rc_context({**STYLE, "svg.hashsalt": name}):
            draw().savefig(FIGURES / f"{name}.svg", facecolor="white", metadata={"Date": None, "Creator": None})
        print(f"wrote docs/figures/{name}.svg")  # noqa: T201


if __name__ == "__main__":
    main()
