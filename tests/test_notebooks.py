"""The notebooks run, print their conclusions, and are committed without outputs."""

from __future__ import annotations

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples" / "notebooks").glob("*.ipynb"))
CONCLUSIONS = {
    "toy_audit": ["different", "ground truth 0.080"],
    "scores": ["matched: adjusted_gap ->", "report: report.html"],
    "embeddings": ["interval; different", "report: report.html"],
    "labels": ["Makeup", "slope"],
    "crowd_study": ["matched: gap ->", "ground truth -0.08"],
}


def printed(notebook) -> str:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    return "".join(output.get("text", "") for output in outputs if output["output_type"] == "stream")


def test_every_notebook_has_its_conclusion():
    assert {path.stem for path in NOTEBOOKS} == set(CONCLUSIONS)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") and cell.get("execution_count") is None for cell in notebook.cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    text = printed(notebook)
    for conclusion in CONCLUSIONS[path.stem]:
        assert conclusion in text
