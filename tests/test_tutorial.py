"""The commands of the tutorial and of the how-to pages run, and print what the pages say."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import likewise as lw
from likewise.report.layout import PARTS

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", flags=re.DOTALL)
WITHOUT_IMAGES = ["only-scores", "only-embeddings", "api-labels"]


def blocks(page: str) -> list[tuple[str, str]]:
    return BLOCK.findall((ROOT / "docs" / page).read_text())


def run_shell(code: str, folder: Path) -> str:
    done = subprocess.run(["bash", "-ec", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def run_python(code: str, names: dict[str, object]) -> str:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, "tutorial", "exec"), names)  # noqa: S102  # our own document
    return printed.getvalue()


def words(line: str) -> str:
    return " ".join(line.split())


def test_the_tutorial_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    printed, compared, largest = "", 0, []
    for language, code in blocks("tutorial.md"):
        if language == "text":
            for line in filter(None, map(words, code.splitlines())):
                assert line in [words(shown) for shown in printed.splitlines()], line
                compared += 1
            continue
        printed = run_shell(code, tmp_path) if language == "sh" else run_python(code, names)
        if code.endswith("balance_table()\n"):
            smd = lw.Estimates.read(tmp_path / "door" / "balance.parquet").where(stat="smd").frame
            largest += [float(smd.loc[smd["sample"] == name, "estimate"].abs().max()) for name in ("all", "matched")]
    assert compared >= 10
    assert largest[0] > 0.4  # before matching
    assert round(largest[1], 2) == 0.03  # "for closer balance, here 0.03"
    assert (tmp_path / "door" / "report.html").is_file()


def test_sections_that_reviewers_are_referred_to_exist():
    page = (ROOT / "docs" / "reviewers.md").read_text()
    named = set(re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", page)) - {"In the report", "Open"}
    templates = (ROOT / "src" / "likewise" / "report" / "templates").rglob("*.j2")
    titles = set(re.findall(r"<h[23][^>]*>([^<{]+)</h[23]>", "".join(path.read_text() for path in templates)))
    titles |= {part.title for part in PARTS}
    assert len(named) > 8
    assert named <= titles


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """The files of the how-to pages."""
    folder = tmp_path_factory.mktemp("files")
    faces, factors = lw.World(identities=160, seed=2).draw()
    faces.write(folder / "people.csv")
    rng = np.random.default_rng(1)
    for name, width in (("embeddings", 8), ("other", 6)):
        mixed = factors[:, 1:] @ rng.normal(size=(factors.shape[1] - 1, width))
        lw.Vectors(faces.keys, mixed, source=name).write(folder / f"{name}.npz")
    pairs = lw.trials(faces, seed=0, impostors=8).frame
    match = np.where(pairs["same"], 75, 25) + rng.normal(0, 12, len(pairs))
    scored = pairs[["a", "b"]].set_axis(["probe", "gallery"], axis=1).assign(match=match.clip(0, 100).round(1))
    scored.to_csv(folder / "scores.csv", index=False)
    lines = [{"image": image, "labels": {"Smile": float(rng.uniform())}} for image in faces.keys]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.mark.parametrize("page", WITHOUT_IMAGES)
def test_the_how_to_pages_run(page, files):
    for language, code in blocks(f"how-to/{page}.md"):
        if language == "sh":
            run_shell(code, files)
    made = {"only-scores": "scored", "only-embeddings": "twice", "api-labels": "labeled"}[page]
    assert "No image was opened" in (files / made / "report.html").read_text()
