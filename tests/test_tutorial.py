"""The tutorial and the how-to pages are followed step by step: their commands run, and print what the pages say."""

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

ROOT = Path(__file__).parents[1]
BLOCK = re.compile(r"```(\w+)\n(.*?)```", flags=re.DOTALL)
WITHOUT_PICTURES = ["only-scores", "only-embeddings", "api-labels"]


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


def test_the_tutorial_says_what_happens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    said, compared, apart = "", 0, []
    for language, code in blocks("tutorial.md"):
        if language == "text":
            for line in filter(None, map(words, code.splitlines())):
                assert line in [words(shown) for shown in said.splitlines()], line
                compared += 1
            continue
        said = run_shell(code, tmp_path) if language == "sh" else run_python(code, names)
        if "largest_differences()\n" in code:
            smd = lw.Estimates.read(tmp_path / "door" / "balance.parquet").where(stat="smd", sample="matched").frame
            apart.append(float(smd["estimate"].abs().max()))
    assert compared >= 10
    assert apart[0] > 0.8  # "Age is as far apart as before"
    assert apart[1] < 0.145  # "no covariate differs by more than 0.14"
    assert (tmp_path / "door" / "report.html").is_file()


def test_reviewers_are_sent_to_sections_that_the_report_has():
    page = (ROOT / "docs" / "reviewers.md").read_text()
    named = set(re.findall(r"(?<!\*)\*([A-Z][^*]+)\*(?!\*)", page)) - {"In the report", "Open"}
    templates = (ROOT / "src" / "likewise" / "report" / "templates").glob("*.j2")
    titles = set(re.findall(r"<h[23][^>]*>([^<{]+)</h[23]>", "".join(path.read_text() for path in templates)))
    assert len(named) > 8
    assert named <= titles


@pytest.fixture(scope="module")
def at_hand(tmp_path_factory) -> Path:
    """The files that the how-to pages speak of."""
    folder = tmp_path_factory.mktemp("at-hand")
    faces, factors = lw.World(identities=160, seed=2).draw()
    faces.write(folder / "people.csv")
    rng = np.random.default_rng(1)
    for name, width in (("embeddings", 8), ("other", 6)):
        turned = factors[:, 1:] @ rng.normal(size=(factors.shape[1] - 1, width))
        lw.Vectors(faces.images, turned, source=name).write(folder / f"{name}.npz")
    pairs = lw.trials(faces, seed=0, impostors=8).frame
    match = np.where(pairs["same"], 75, 25) + rng.normal(0, 12, len(pairs))
    scored = pairs[["a", "b"]].set_axis(["probe", "gallery"], axis=1).assign(match=match.clip(0, 100).round(1))
    scored.to_csv(folder / "scores.csv", index=False)
    lines = [{"image": image, "labels": {"Smile": float(rng.uniform())}} for image in faces.images]
    (folder / "answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.mark.parametrize("page", WITHOUT_PICTURES)
def test_the_how_to_pages_run(page, at_hand):
    for language, code in blocks(f"how-to/{page}.md"):
        if language == "sh":
            run_shell(code, at_hand)
    made = {"only-scores": "scored", "only-embeddings": "twice", "api-labels": "labelled"}[page]
    assert "No images were given" in (at_hand / made / "report.html").read_text()
