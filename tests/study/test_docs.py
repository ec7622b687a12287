"""Everything that a plan may say, and every verb and option, is documented."""

from __future__ import annotations

from pathlib import Path

import pytest

from likewise.cli.verbs_study import study
from likewise.study.reading import LISTS, PLAIN, SECTIONS

DOCS = Path(__file__).parents[2] / "docs"
NOUN, VERB = (DOCS / "nouns" / "study.md").read_text(), (DOCS / "verbs" / "study.md").read_text()
KEYS = [*PLAIN, *(key for keys in (*SECTIONS.values(), *LISTS.values()) for key in keys)]


@pytest.mark.parametrize("key", sorted({key for key in KEYS if key != "item"}))
def test_every_key_of_a_plan_is_documented(key):
    assert f"`{key}`" in NOUN


@pytest.mark.parametrize("section", [*(f"[{name}]" for name in SECTIONS), *(f"[[{name}]]" for name in LISTS)])
def test_every_section_of_a_plan_is_documented(section):
    assert f"`{section}`" in NOUN


@pytest.mark.parametrize("verb", sorted(study.commands))
def test_every_verb_and_option_is_documented(verb):
    assert f"`likewise study {verb}" in VERB
    (row,) = [line for line in VERB.splitlines() if f"`likewise study {verb}" in line]
    for option in study.commands[verb].params:
        if option.param_type_name == "option":
            assert option.opts[0] in row, option.opts
