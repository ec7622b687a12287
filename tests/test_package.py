"""The wheel and the sdist: complete, and enough for scores, embeddings, labels and tables in an empty environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import likewise as lw

ROOT = Path(__file__).parents[1]
BUILD = "from setuptools import build_meta as b; print(b.build_wheel({0!r})); print(b.build_sdist({0!r}))"
WITHOUT = ("torch", "onnxruntime", "dlib", "starlette", "boto3", "openpyxl", "ray")


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> dict[str, Path]:
    """Build both from a copy, without isolation and so without an index."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("dist")
    for name in ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "constraints.txt", "MANIFEST.in"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    done = subprocess.run(
        [sys.executable, "-c", BUILD.format(str(target))], cwd=source, capture_output=True, text=True, check=False
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return {path.suffix: path for path in target.iterdir()}


def package_files() -> set[str]:
    every = [
        path for path in (ROOT / "src" / "likewise").rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    return {path.relative_to(ROOT / "src").as_posix() for path in every}


def test_the_wheel_has_every_file_of_the_package(built):
    names = set(zipfile.ZipFile(built[".whl"]).namelist())
    assert package_files() - names == set()
    assert any(name.endswith("licenses/LICENSE") for name in names)


def test_the_sdist_has_every_file_of_the_package(built):
    with tarfile.open(built[".gz"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in package_files()} - names == set()
    assert {"LICENSE", "pyproject.toml", "constraints.txt"} <= names


def required(name: str, found: dict[str, None]) -> dict[str, None]:
    """Collect what a distribution needs without extras, all the way down."""
    for line in distribution(name).requires or []:
        each = Requirement(line)
        if (each.marker is None or each.marker.evaluate({"extra": ""})) and each.name not in found:
            found[each.name] = None
            required(each.name, found)
    return found


@pytest.fixture(scope="module")
def empty(built, tmp_path_factory) -> Path:
    """Make an environment with the wheel and the packages that it requires, and no others.

    The packages are linked from this environment, so that no index is needed; what pip would take is their metadata.
    """
    place = tmp_path_factory.mktemp("empty") / "env"
    venv.create(place, with_pip=False)
    site = next(place.glob("lib/python*/site-packages"))
    for name in required("likewise", {}):
        for file in distribution(name).files or []:
            top = file.parts[0]
            if top not in ("..", "__pycache__") and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    with zipfile.ZipFile(built[".whl"]) as wheel:
        wheel.extractall(site)  # noqa: S202  # our own
    return place


def run(env: Path, *arguments: object, folder: Path) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [str(env / "bin" / "python"), *(str(argument) for argument in arguments)]
    return subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True, check=False)


def test_the_wheel_alone_audits_scores(empty, tmp_path):
    images, _ = lw.World(identities=40, seed=1).draw()
    images.write(tmp_path / "people.csv")
    pairs = lw.trials(images, seed=0, impostors=6).frame
    score = pairs["same"] * 0.5 + 0.01 * pairs["trial"].str.len() + pairs.index.to_numpy() % 7 / 40
    pairs[["a", "b"]].assign(score=score).to_csv(tmp_path / "scores.csv", index=False)
    for module in WITHOUT:
        assert run(empty, "-c", f"import {module}", folder=tmp_path).returncode == 1, module
    given = ["-m", "likewise", "scores", "scores.csv", "--table", "people.csv", "--out", "audit"]
    done = run(empty, *given, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "similarities" in done.stdout
    assert (tmp_path / "audit" / "report.html").stat().st_size > 50_000


def test_doctor_says_what_is_missing(empty, tmp_path):
    assert run(empty, "-m", "likewise", "doctor", folder=tmp_path).returncode == 0
    done = run(empty, "-m", "likewise", "doctor", "faces", folder=tmp_path)
    assert done.returncode == 1
    for word in ("torch", "onnxruntime", "dlib-bin", "pip install 'likewise[faces]'"):
        assert word in done.stdout
