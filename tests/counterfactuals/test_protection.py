"""Editors that do not edit: none of them may lead to a counterfactual finding."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

import likewise as lw
from broken_editors import (
    Aging,
    Bright,
    Compressed,
    Ghost,
    GhostEverywhere,
    Late,
    Mirror,
    Mistaken,
    Nothing,
    Picky,
    Reverse,
    Specks,
    Stranger,
    Tint,
)
from likewise.counterfactuals.edit import counterfactual, placebo_images
from likewise.counterfactuals.sweep_spec import SweepSpec
from likewise.counterfactuals.validation.validate import groups_of, validate_edits
from likewise.counterfactuals.validation.validity import ARTIFACT, ValiditySpec, assess, valid_edits
from likewise.errors import TableError
from likewise.rating.rate import rate
from likewise.runtime.pixels import save
from likewise.runtime.registry import to_pictures
from likewise.simulation.components import WorldEditor
from likewise.simulation.scene import draw, see
from likewise.simulation.world import CONTRAST

SPEC = ValiditySpec(
    target="world-attributes: female",
    held=(
        "world-attributes: smiling",
        "world-attributes: older",
        "world-attributes: eyeglasses",
        "world-attributes: light from the left",
    ),
    recognizer="world",
    artifacts="world-artifacts: artifact",
)


class Smile(WorldEditor):
    """Moves a held attribute along."""

    name = "smile"

    def edit(self, pictures, level):
        factors = see(pictures)
        factors[:, 0], factors[:, 3] = level, factors[:, 3] + 0.7 * level
        return to_pictures(draw(factors))


class Light(WorldEditor):
    """Changes the light of the whole picture along with the attribute, background included."""

    name = "light"

    def edit(self, pictures, level):
        factors = see(pictures)
        factors[:, 0], factors[:, 4] = level, factors[:, 4] + 0.8 * level
        return to_pictures(draw(factors))


def validated(world, folder, editor, spec=SPEC):
    few = world.faces.subset(world.faces.keys[:36])
    edits = counterfactual(few, world.pictures[:36], editor=editor, folder=folder)
    return edits, validate_edits(edits, folder, spec=spec, contrast=CONTRAST)


def test_a_true_editor_has_valid_edits_and_a_finding(world, tmp_path):
    edits, validity = validated(world, tmp_path, WorldEditor())
    valid = valid_edits(validity, edits)
    assert valid.frame["parent"].nunique() >= 0.9 * edits.frame["parent"].nunique()
    slopes = lw.slopes(rate(valid, tmp_path, model="world"), valid, threshold=0.5).frame
    found = slopes[(slopes["stat"].isin(["slope", "rate_slope"])) & slopes["quantity"].str.contains("Lipstick")]
    assert (found["estimate"] > 0).all() and len(found)


IDLE = [Nothing, Tint, Ghost, GhostEverywhere, Smile, Reverse, Aging, Light]
HOSTILE = [Mirror, Bright, Compressed, Stranger, Mistaken, Late, Specks]


@pytest.mark.parametrize("editor", [*IDLE, *HOSTILE])
def test_an_editor_that_does_not_edit_has_no_valid_edits(world, tmp_path, editor):
    edits, validity = validated(world, tmp_path, editor())
    valid = valid_edits(validity, edits)
    assert len(valid) == 0
    with pytest.raises(TableError):
        lw.slopes(rate(edits, tmp_path, model="world"), valid, threshold=0.5)


@pytest.mark.parametrize("lacking", ["target", "held", "recognizer", "artifacts"])
def test_a_true_editor_without_a_validator_has_no_valid_edits(world, tmp_path, lacking):
    edits, validity = validated(world, tmp_path, WorldEditor(), replace(SPEC, **{lacking: None}))
    assert len(valid_edits(validity, edits)) == 0


def test_without_placebo_arms_there_are_no_valid_edits(world, tmp_path):
    few = world.faces.subset(world.faces.keys[:12])
    folder, originals = tmp_path / "edits", tmp_path / "originals"
    edits = counterfactual(few, world.pictures[:12], editor=WorldEditor(), folder=folder, spec=SweepSpec(placebo=False))
    assert len(placebo_images(edits, folder)) == 0
    for key, picture in zip(few.keys, world.pictures, strict=False):
        save(originals / f"{key}.png", picture)
    validity = validate_edits(edits, folder, spec=SPEC, originals=originals, contrast=CONTRAST)
    assert len(valid_edits(validity, edits)) == 0


def test_the_reasons_are_those_of_the_editor(world, tmp_path):
    said = {}
    for editor in (Nothing, Ghost):
        edits, validity = validated(world, tmp_path / editor.name, editor())
        spec = replace(SPEC, person=0.8)
        said[editor.name] = assess(validity, edits, spec, groups=groups_of(edits, CONTRAST)).reasons
    assert said["nothing"].str.contains("does not move").all()
    assert said["ghost"].str.contains("artifacts").all()
    assert not pd.isna(validity.frame.loc[validity.frame["question"] == ARTIFACT, "value"]).any()


class WithoutRedraw:
    """An editor that cannot reconstruct: only the random direction is its control."""

    name, attribute, mask, toy = "without-redraw", "perceived_gender", "none", True

    def edit(self, pictures, level):
        return WorldEditor().edit(pictures, level)


def test_an_editor_that_cannot_redraw_is_validated_against_the_random_direction(world, tmp_path):
    edits, validity = validated(world, tmp_path, WithoutRedraw())
    assert len(valid_edits(validity, edits)) > 0


def test_an_editor_that_chooses_its_images_has_valid_edits_of_those_only(world, tmp_path):
    """What it left alone does not pass as "no effect"; that men are missing is counted by group."""
    edits, validity = validated(world, tmp_path, Picky())
    side = groups_of(edits, CONTRAST)
    valid = set(valid_edits(validity, edits).frame["parent"])
    assert valid and all(side[parent] == 1 for parent in valid)
