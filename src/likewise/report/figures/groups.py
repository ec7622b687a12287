"""The values of many groups with their intervals, in order of size."""

from __future__ import annotations

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from likewise.errors import TableError
from likewise.report.figures.style import FAINT, FOCAL, INK, NARROW, OTHER, STYLE, WIDE, label_axis, legend, text
from likewise.report.names import measure
from likewise.report.numbers import significant
from likewise.report.sections.findings.groups import OVERALL, values_of
from likewise.tables import Estimates


def group_plot(estimates: Estimates, quantity: str, sample: str, *, width: float = WIDE) -> Figure:
    """Draw the value of every group with its interval, and the overall value as a line.

    Parameters
    ----------
    estimates
        What :func:`likewise.by_group` returns.
    quantity, sample
        Which quantity, and by which columns, e.g. ``"by perceived_race x perceived_gender"``.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    TableError
        If the table has no such groups.

    Examples
    --------
    >>> import likewise as lw
    >>> from likewise.simulation.system_ratings import VerificationTrials
    >>> ratings, trials, images, _ = VerificationTrials(60, seed=1).tables()
    >>> found = lw.by_group(ratings, trials, images, "perceived_gender", rates=[0.05])
    >>> figure = lw.group_plot(found, "simulated: FNMR at FMR 0.05", "by perceived_gender")
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['male', 'female']
    """
    values, differences = values_of(estimates, quantity, sample)
    if values.empty:
        raise TableError(f"No groups of {quantity!r} ({sample})", fix="Pass what by_group() returns.")
    apart = {str(row["group"]).rsplit(" - ", 1)[0] for _, row in differences.iterrows() if significant(row)}
    rows = values[values["group"] != OVERALL].iloc[::-1]
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, 1.2 + 0.27 * len(rows)), layout="constrained")
        axes = figure.subplots()
        axes.axvline(float(values.iloc[-1]["estimate"]), color=FAINT, linewidth=1, linestyle="--", label=OVERALL)
        for height, (_, row) in enumerate(rows.iterrows()):
            here = row["group"] in apart
            color = OTHER if here else FOCAL
            axes.hlines(height, row["low"], row["high"], color=color, linewidth=2)
            axes.plot([row["estimate"]], [height], "D" if here else "o", color=color, markersize=6)
        for marker, color, words in (("o", FOCAL, "group, 95 % CI"), ("D", OTHER, "differs (simultaneous)")):
            axes.plot([], [], marker, color=color, label=_level(words, float(rows.iloc[0]["level"])))
        axes.set_yticks(range(len(rows)), [text(name) for name in rows["group"]])
        for label in axes.get_yticklabels():
            label.set_fontsize(8 if width <= NARROW else 9.5)
            label.set_color(INK)
        axes.set_ylim(-0.6, len(rows) - 0.4)
        if (values["stat"] == "group_rate").all():
            axes.xaxis.set_major_formatter(PercentFormatter(1.0))
            axes.set_xlim(left=min(0.0, *axes.get_xlim()) if axes.get_xlim()[0] < 0.1 else None)
        label_axis(axes, text(measure(quantity)), width)
        legend(figure, columns=2 if width <= NARROW else 3)
    return figure


def _level(words: str, level: float) -> str:
    return words.replace("95", f"{round(100 * level, 2):g}")
