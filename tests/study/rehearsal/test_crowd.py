"""Simulated people answer an audit's trials through the study's own pages, with the chances that were given."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from likewise.errors import StudyError, TableError
from likewise.runtime.registry import Pictures, create
from likewise.tables import Trials


def trials(n: int) -> Trials:
    a, b = [f"p{k:03d}-1" for k in range(n)], [f"p{k:03d}-2" for k in range(n)]
    return Trials(
        pd.DataFrame({"trial": [f"{x}|{y}" for x, y in zip(a, b, strict=True)], "a": a, "b": b, "same": True})
    )


def look(images: list[str]) -> Pictures:
    return np.stack([np.full((24, 24, 3), sum(map(ord, image)) % 200, dtype=np.uint8) for image in images])


def table(folder: Path, chances: dict[str, float]) -> str:
    path = folder / "people.csv"
    pd.DataFrame({"image": list(chances), "chance": list(chances.values())}).to_csv(path, index=False)
    return str(path)


def test_answers_follow_the_given_chances_and_the_seed(tmp_path: Path) -> None:
    asked = trials(40)
    sure = {image: float(number < 20) for number in range(40) for image in (f"p{number:03d}-1", f"p{number:03d}-2")}
    crowd = create("crowd", "study", {"path": table(tmp_path, sure), "raters": 8, "each": 3, "offset": 0.0})
    first, again = crowd.answers(asked, look, 5), crowd.answers(asked, look, 5)
    pd.testing.assert_frame_equal(first.frame, again.frame)
    assert (first.frame.groupby("unit").size() == 3).all()
    assert len(first.frame["unit"].unique()) == 40
    said = first.frame.groupby("unit")["value"].mean()
    assert [said[unit] for unit in asked.frame["trial"]] == [float(k < 20) for k in range(40)]


def test_a_chance_is_the_mean_of_both_pictures(tmp_path: Path) -> None:
    half = {image: value for number in range(60) for image, value in
            ((f"p{number:03d}-1", 0.0), (f"p{number:03d}-2", 1.0))}  # fmt: skip
    crowd = create("crowd", "study", {"path": table(tmp_path, half), "raters": 6, "each": 3, "offset": 0.0})
    share = crowd.answers(trials(60), look, 1).frame["value"].mean()
    assert abs(share - 0.5) < 4 * (0.25 / 180) ** 0.5


def test_what_cannot_be_rehearsed_is_said(tmp_path: Path) -> None:
    path = table(tmp_path, {"p000-1": 1.0})
    with pytest.raises(TableError, match="is not in the table of chances"):
        create("crowd", "study", {"path": path}).answers(trials(1), look, 0)
    with pytest.raises(StudyError, match="Too few raters"):
        create("crowd", "study", {"path": path, "raters": 2, "each": 3})
    (tmp_path / "other.csv").write_text("image,lean\na,1\n")
    with pytest.raises(TableError, match="Column 'chance' not found"):
        create("crowd", "study", {"path": str(tmp_path / "other.csv")})
