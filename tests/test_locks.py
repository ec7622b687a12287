"""locks/: every package of the demo and of the study server is pinned as in constraints.txt, each with hashes."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
EXTRAS = {"demo": ["demo"], "study": ["study", "postgres"]}


def pins(text: str) -> dict[str, str]:
    return {
        canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)==([^\s\\]+)", text, re.MULTILINE)
    }


def required(extras: list[str]) -> set[str]:
    """Return the direct requirements of some extras, those of extras that they include, and of the package itself."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    left = [*project["dependencies"], *(line for extra in extras for line in project["optional-dependencies"][extra])]
    while left:
        requirement = Requirement(left.pop())
        if requirement.name == "likewise":
            left += [line for extra in requirement.extras for line in project["optional-dependencies"][extra]]
        else:
            found.add(canonicalize_name(requirement.name))
    return found


@pytest.mark.parametrize("name", EXTRAS)
def test_a_lock_pins_what_the_constraints_pin(name):
    text = (ROOT / "locks" / f"{name}.txt").read_text()
    locked, allowed = pins(text), pins((ROOT / "constraints.txt").read_text())
    assert required(EXTRAS[name]) - set(locked) <= {"torch"}, "run ./scripts/lock"
    assert {name: allowed.get(name) for name in locked} == locked, "run ./scripts/lock"


@pytest.mark.parametrize("name", EXTRAS)
def test_every_locked_package_has_a_hash(name):
    entries = (ROOT / "locks" / f"{name}.txt").read_text().replace("\\\n", " ").splitlines()[1:]
    assert entries
    for entry in entries:
        assert re.fullmatch(r"[\w.-]+==\S+(\s+--hash=sha256:[0-9a-f]{64})+", entry), entry
