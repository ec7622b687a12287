from __future__ import annotations

import doctest
import importlib
import inspect
import sys
from importlib.metadata import EntryPoint

import numpy as np
import pytest

from likewise.errors import LikewiseError, PluginError
from likewise.runtime import registry
from likewise.runtime.registry import KINDS, components, create, register, to_pictures, to_signals


class Flat:
    """A classifier of another package."""

    name, license, threshold = "flat", "MIT", 0.5

    def __init__(self, label: str = "Thing") -> None:
        self._label = label

    def score(self, pictures):
        return {self._label: np.ones(len(pictures), dtype=np.float32)}


class OldFlat:
    """A classifier with the spelling of version 0.1."""

    name, licence, threshold = "old", "MIT", 0.5

    def score(self, pictures):
        return {}


def needs_options(factory) -> bool:
    return any(option.default is option.empty for option in inspect.signature(factory).parameters.values())


@pytest.fixture(autouse=True)
def _no_registrations(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})


@pytest.mark.filterwarnings("ignore:The classifier:likewise.errors.LikewiseWarning")  # former names of services
@pytest.mark.parametrize("kind", sorted(KINDS))
def test_built_in_components_meet_their_contract(kind):
    names = components(kind)
    assert names
    for name, load in names.items():
        if not needs_options(load()):  # those have tests of their own
            try:
                component = create(kind, name)
            except LikewiseError as missing:  # weights are not on this machine: the error has the command
                assert "likewise " in str(missing)
                continue
            assert component.name
            assert component.license


def test_registered_component_is_found_and_takes_options():
    register("classifier", "flat", Flat)
    assert {"flat", "world"} <= set(components("classifier"))
    assert list(create("classifier", "flat", {"label": "Hat"}).score(np.zeros((2, 4, 4, 3)))) == ["Hat"]


@pytest.mark.parametrize(
    ("kind", "name", "options", "says"),
    [
        ("clasifier", "flat", {}, "Unknown component kind 'clasifier'. Did you mean 'classifier'"),
        ("classifier", "flt", {}, "Unknown classifier 'flt'. Did you mean 'flat'"),
        ("classifier", "flat", {"lable": "x"}, "has no option 'lable'. Did you mean 'label'"),
        ("recognizer", "flat", {}, "The recognizer 'flat' lacks 'distance', 'embed', 'family'"),
        ("classifier", "broken", {}, "Cannot create the classifier 'broken': RuntimeError: no weights"),
    ],
)
def test_unusable_components_are_refused(kind, name, options, says):
    def broken():
        raise RuntimeError("no weights")

    register("classifier", "flat", Flat)
    register("recognizer", "flat", Flat)
    register("classifier", "broken", broken)
    with pytest.raises(PluginError, match=says):
        create(kind, name, options)


def test_component_that_cannot_be_imported_is_refused(monkeypatch):
    point = EntryPoint("gone", "no_such_package:Gone", "likewise.classifier")
    monkeypatch.setattr(registry, "entry_points", lambda group: [point] if group == "likewise.classifier" else [])
    with pytest.raises(PluginError, match="Cannot load the classifier 'gone': ModuleNotFoundError"):
        create("classifier", "gone")


def test_factory_with_any_options_checks_them_itself():
    register("classifier", "any", lambda **given: Flat(**{"label": "Hat", **given}))
    assert create("classifier", "any", {"label": "Cap"})._label == "Cap"


def test_former_entry_point_group_is_read_with_a_warning(monkeypatch):
    points = {
        "likewise.recogniser": [EntryPoint("theirs", "their_package:Recogniser", "likewise.recogniser")],
        "likewise.recognizer": [EntryPoint("ours", "likewise.x:Y", "likewise.recognizer")],
    }
    monkeypatch.setattr(registry, "entry_points", lambda group: points.get(group, []))
    with pytest.warns(DeprecationWarning, match="'likewise.recogniser' is now 'likewise.recognizer'.*'theirs'"):
        assert set(components("recognizer")) == {"theirs", "ours"}


def test_former_spelling_of_members_is_read_with_a_warning():
    register("classifier", "old", OldFlat)
    with pytest.warns(DeprecationWarning, match="defines 'licence', which is now 'license'"):
        assert create("classifier", "old").license == "MIT"


def test_former_module_still_works_with_a_warning():
    sys.modules.pop("likewise.plugins", None)
    with pytest.warns(DeprecationWarning, match=r"likewise\.runtime\.registry"):
        assert importlib.import_module("likewise.plugins").register is register


def test_pictures_and_signals_convert_without_loss():
    pictures = np.arange(256, dtype=np.uint8).repeat(3).reshape(1, 16, 16, 3)
    signals = to_signals(pictures)
    assert (signals.shape, signals.dtype) == ((1, 3, 16, 16), np.float32)
    assert (signals.min(), signals.max()) == (-1, 1)
    assert np.array_equal(to_pictures(signals), pictures)


def test_examples_in_docstrings_run():
    assert doctest.testmod(registry).failed == 0
