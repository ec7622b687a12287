"""The vocabulary: American spelling and the field's words in the package, the documentation and the scripts."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = (".py", ".md", ".j2", ".toml", ".js", ".css")
PLACES = ("src", "docs", "scripts", "examples", "README.md", "CONTRIBUTING.md")
BRITISH = (
    r"colour\w*", r"grey(?!hound)", r"\w*recognis\w+", r"analysed?", r"analysing", r"behaviour\w*", r"licence\w*",
    r"artefact\w*", r"neighbour\w*", r"centre[ds]?", r"favour\w*", r"labelled", r"labelling", r"modelled", r"modelling",
    r"catalogue\w*", r"programmes?",
    r"\w*(?:normal|general|regular|optim|minim|maxim|standard|quant|serial|initial|random|visual|summar|util|synthes|vector)"
    r"is(?:e|ed|es|ing|ation|ations|er|ers)",
)  # fmt: skip
QUAINT = (
    "look-?alikes?", "occupants?", "purse", "by lot", "anew", "dearer", "exist nowhere", "would bet", "nouns and verbs",
    "as the images come", "let in", "drawn again and", "crude gaps?", "hidden differences", "who judges", "judges look",
    "planted", "certifies|certified", "told", "mind, ", "goes? along with",
)  # fmt: skip
ABSOLVING = ("debiased", "bias-free", "provably fair")
OLD_NAMES = {  # keys and members of version 0.1, which are still read
    "src/likewise/audit/plan/migrations.py",
    "src/likewise/errors.py",
    "src/likewise/plugins.py",
    "src/likewise/report/sections/findings/slopes.py",
    "src/likewise/report/sections/sample/validity.py",
    "src/likewise/runtime/registry.py",
}
QUOTED = re.compile(r"(?:distance|projection|matches_distance)_recogniser\S*")  # names of published files


def texts() -> list[str]:
    listed = subprocess.run(["git", "ls-files", *PLACES], cwd=ROOT, capture_output=True, text=True, check=False).stdout
    files = listed.split() or [str(path.relative_to(ROOT)) for place in PLACES for path in (ROOT / place).rglob("*")]
    return [name for name in files if name.endswith(TEXTS) or name.startswith("scripts/")]


def found(words: tuple[str, ...], text: str) -> list[str]:
    return re.findall(rf"\b(?:{'|'.join(words)})\b", QUOTED.sub("", text), flags=re.IGNORECASE)


@pytest.mark.parametrize("name", sorted(set(texts()) - OLD_NAMES))
def test_words(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert not found(BRITISH + QUAINT + ABSOLVING, text)


@pytest.mark.parametrize(
    "text", ["The colour", "a Recogniser", "pairs were drawn by lot", "It is normalised", "look-alikes"]
)
def test_the_search_finds_what_it_should(text):
    assert found(BRITISH + QUAINT, text)


@pytest.mark.parametrize("text", ["analysis", "an exercise", "revised", "concentrated", "otherwise", "a greyhound"])
def test_the_search_leaves_the_rest(text):
    assert not found(BRITISH + QUAINT, text)
