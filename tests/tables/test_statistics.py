"""The registry of statistics: every record says where it is estimated, and which way is better."""

from __future__ import annotations

import inspect

import pytest

from likewise.errors import TableError
from likewise.tables.statistics import STATS, Stat


@pytest.mark.parametrize("stat", list(STATS.values()), ids=lambda stat: stat.name)
def test_every_statistic_names_a_function_that_writes_it(stat):
    function = stat.load()
    assert inspect.signature(function).return_annotation == "Estimates"
    module = inspect.getmodule(function)
    assert module is not None
    ours = {module}
    for _ in range(2):  # the files that it is put together from
        used = {inspect.getmodule(value) for one in ours for value in vars(one).values()}
        ours |= {one for one in used if one is not None and one.__name__.startswith("likewise.")}
    assert any(f'"{stat.name}"' in inspect.getsource(one) for one in ours)


def test_which_value_is_worse():
    assert STATS["fnmr"].worse(0.2, 0.1) and not STATS["fnmr"].worse(0.1, 0.2)
    assert STATS["accuracy"].worse(0.1, 0.2)
    assert STATS["variance_ratio"].worse(0.5, 1.2)  # further from 1
    assert not STATS["threshold"].worse(0.1, 0.2) and not STATS["threshold"].worse(0.2, 0.1)


def test_a_record_without_a_function_says_so():
    with pytest.raises(TableError, match="names no function"):
        Stat("mine", "my own", None, "mean").load()
