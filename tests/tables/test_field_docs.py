"""Texts under fields reach the docstring of a dataclass."""

from __future__ import annotations

import doctest
import inspect
from dataclasses import dataclass, field
from typing import Literal

from likewise.tables import field_docs
from likewise.tables.field_docs import documented, field_texts

Pace = Literal["slow", "fast"]


@dataclass
class Base:
    """A base."""

    length: int
    """How long it is,
    in one line."""


@documented
@dataclass
class Walk(Base):
    """A walk.

    Examples
    --------
    None.
    """

    pace: Pace = "slow"
    """How fast it is."""
    silent: bool = False
    steps: list[int] = field(default_factory=list)
    """What was counted."""
    total: int = field(default=0, init=False)
    """No parameter."""


def test_parameters_come_before_the_examples_with_their_choices_and_defaults():
    assert inspect.getdoc(Walk).splitlines() == [
        "A walk.", "",
        "Parameters", "----------",
        "length : int", "    How long it is, in one line.",
        "pace : {'slow', 'fast'}, default 'slow'", "    How fast it is.",
        "silent : bool, default False",
        "steps : list[int]", "    What was counted.", "",
        "Examples", "--------", "None.",
    ]  # fmt: skip


def test_a_class_without_source_or_docstring_is_left_alone():
    made = dataclass(type("Made", (), {"__annotations__": {"a": int}, "__doc__": None}))
    made.__doc__ = None
    assert documented(made).__doc__ is None
    assert field_texts(made) == {}


def test_examples_in_docstrings_run():
    assert doctest.testmod(field_docs).failed == 0
