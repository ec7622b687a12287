"""The way of one projection: its loss, step by step."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from likewise.report.figures.style import FOCAL, STYLE

DOTS, HIGH, NARROWEST = 100, 180, 320  # a hundred dots an inch; pixels


def descent_figure(losses: npt.NDArray[np.float32], width: int) -> Figure:
    """Draw the losses over the steps, so many pixels wide."""
    with mpl.rc_context(STYLE):
        size = (max(width, NARROWEST) / DOTS, HIGH / DOTS)
        figure = Figure(figsize=size, dpi=DOTS, layout="constrained", facecolor="white")
        axes = figure.subplots()
        axes.plot(range(1, len(losses) + 1), losses, color=FOCAL, linewidth=1)
        axes.set_xlabel("step (where it jumps, a finer picture is compared from there on)")
        axes.set_ylabel("loss")
        axes.set_ylim(bottom=0)
        axes.margins(x=0)
    return figure


def pixels_of(figure: Figure) -> npt.NDArray[np.uint8]:
    """Return a figure as a picture ``[H, W, 3]``."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()  # type: ignore[no-untyped-call]
    return np.asarray(canvas.buffer_rgba(), np.uint8)[..., :3].copy()  # type: ignore[no-untyped-call]
