from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from likewise.errors import PluginError, SpecError
from likewise.runtime.registry import create


@pytest.fixture
def pictures():
    rng = np.random.default_rng(5)
    return np.stack([rng.integers(40 * i, 40 * i + 50, (16, 16, 3), dtype=np.uint8) for i in range(6)])


@pytest.fixture(autouse=True)
def module(monkeypatch):
    made = ModuleType("my_tagger")
    made.tag = lambda pictures: {"Bright": pictures.mean(axis=(1, 2, 3)) / 255}
    made.wrong = lambda pictures: [0.5]
    made.number = 3
    monkeypatch.setitem(sys.modules, "my_tagger", made)


def test_a_function_is_a_classifier(pictures):
    made = create("classifier", "function", {"function": "my_tagger:tag", "threshold": 0.7})
    assert made.name == "my_tagger:tag"
    assert np.float32(0.7) >= made.threshold
    assert made.score(pictures)["Bright"] == pytest.approx(pictures.mean(axis=(1, 2, 3)) / 255)


@pytest.mark.parametrize(
    ("options", "kind", "says"),
    [
        ({"function": "my_tagger"}, SpecError, "'module:function'"),
        ({"function": "../evil:tag"}, SpecError, "'module:function'"),
        ({"function": "my_tagger:tag", "threshold": 0}, SpecError, "threshold"),
        ({"function": "no_such_module:tag"}, PluginError, "PYTHONPATH"),
        ({"function": "my_tagger:tog"}, PluginError, "Cannot import"),
        ({"function": "my_tagger:number"}, PluginError, "is a int, not a function"),
        ({}, PluginError, "function"),
    ],
)
def test_what_is_no_function(options, kind, says):
    with pytest.raises(kind, match=says):
        create("classifier", "function", options)


def test_what_a_function_must_return(pictures):
    with pytest.raises(PluginError, match="returned a list for 6 pictures"):
        create("classifier", "function", {"function": "my_tagger:wrong"}).score(pictures)
