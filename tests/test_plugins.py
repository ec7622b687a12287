from __future__ import annotations

import inspect

import numpy as np
import pytest

from likewise import plugins
from likewise.errors import LikewiseError, PluginError
from likewise.plugins import SLOTS, create, occupants, register, to_pictures, to_signals


class Flat:
    """A stranger's classifier."""

    name, licence, threshold = "flat", "MIT", 0.5

    def __init__(self, label: str = "Thing") -> None:
        self._label = label

    def score(self, pictures):
        return {self._label: np.ones(len(pictures), dtype=np.float32)}


def needs_options(factory) -> bool:
    return any(option.default is option.empty for option in inspect.signature(factory).parameters.values())


@pytest.fixture(autouse=True)
def _forget(monkeypatch):
    monkeypatch.setattr(plugins, "_REGISTERED", {})


@pytest.mark.parametrize("slot", sorted(SLOTS))
def test_every_slot_has_an_occupant_that_keeps_its_contract(slot, tmp_path):
    names = occupants(slot)
    assert names
    for name, load in names.items():
        if not needs_options(load()):  # those have tests of their own
            try:
                occupant = create(slot, name)
            except LikewiseError as missing:  # its weights are not on this machine: then it says how to get them
                assert "likewise " in str(missing)
                continue
            assert occupant.name
            assert occupant.licence


def test_a_stranger_moves_in():
    register("classifier", "flat", Flat)
    assert {"flat", "world"} <= set(occupants("classifier"))
    assert list(create("classifier", "flat", {"label": "Hat"}).score(np.zeros((2, 4, 4, 3)))) == ["Hat"]


@pytest.mark.parametrize(
    ("slot", "name", "options", "says"),
    [
        ("clasifier", "flat", {}, "Did you mean 'classifier'"),
        ("classifier", "flt", {}, "Did you mean 'flat'"),
        ("classifier", "flat", {"lable": "x"}, "no option 'lable'. Did you mean 'label'"),
        ("recogniser", "flat", {}, "no 'distance', 'embed', 'family'"),
        ("classifier", "broken", {}, "RuntimeError: no weights"),
    ],
)
def test_what_does_not_fit_is_refused(slot, name, options, says):
    def broken():
        raise RuntimeError("no weights")

    register("classifier", "flat", Flat)
    register("recogniser", "flat", Flat)
    register("classifier", "broken", broken)
    with pytest.raises(PluginError, match=says):
        create(slot, name, options)


def test_pictures_and_signals_are_two_forms_of_one_thing():
    pictures = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 16, 16, 3)
    signals = to_signals(pictures)
    assert (signals.shape, signals.dtype) == ((1, 3, 16, 16), np.float32)
    assert (signals.min(), signals.max()) == (-1, 1)
    assert np.array_equal(to_pictures(signals), pictures)
