"""The fader network on the simulated world's faces, where what a face shows can be read back from its pixels."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from likewise.errors import SpecError, WeightsError
from likewise.models.fader.data import Lessons
from likewise.models.fader.editor import DRAWN, KEEP, FaderEditor
from likewise.models.fader.erase import codes, erased
from likewise.models.fader.network import Fader, FaderShape, load_fader, save_fader
from likewise.models.fader.training import Training, TrainSpec
from likewise.runtime.registry import to_pictures, to_signals
from likewise.simulation.scene import SIZE, draw, see

NAMES = ("perceived_gender", "smiling")
SPEC = TrainSpec(width=8, adversary=0.01, rise=250, steps=450, mirror=False)


def resized(pictures, size: int):
    return np.stack([np.asarray(Image.fromarray(p).resize((size, size), Image.Resampling.LANCZOS)) for p in pictures])


def world_faces(n: int, seed: int):
    """Images of 32 px in which smiling is associated with gender; and both, as -1 or 1."""
    rng = np.random.default_rng(seed)
    factors = rng.normal(size=(n, 10)) / 2
    factors[:, 0] = rng.choice([-1, 1], n)
    factors[:, 3] = np.where(rng.random(n) < 0.5 + 0.3 * factors[:, 0], 1, -1)
    return resized(to_pictures(draw(factors)), 32), factors[:, [0, 3]].astype(np.float32)


@pytest.fixture(scope="module")
def lessons() -> Lessons:
    return Lessons(*world_faces(900, 0), NAMES)


@pytest.fixture(scope="module")
def unseen():
    return world_faces(120, 1)


def trained(lessons: Lessons, spec: TrainSpec) -> Fader:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    training = Training(lessons, spec)
    for _ in range(spec.steps):
        training.advance()
    torch.set_num_threads(threads)
    return training.fader.eval()


@pytest.fixture(scope="module")
def file(lessons, tmp_path_factory):
    path = tmp_path_factory.mktemp("fader") / "world.safetensors"
    save_fader(path, trained(lessons, SPEC), {"faces": 900})
    return path


def at_strengths(editor: FaderEditor, pictures, factor: int):
    """What the world sees of one factor, a row a face, a column a level."""
    return np.stack(
        [see(resized(editor.edit(pictures, level), SIZE))[:, factor] for level in (-2, -1, 0, 1, 2)], axis=1
    )


def test_the_dial_turns_the_attribute_and_holds_the_other(file, unseen):
    pictures, _ = unseen
    editor = FaderEditor(weights=str(file))
    assert (editor.attribute, editor.held) == ("perceived_gender", ("smiling",))
    gender, smiling = at_strengths(editor, pictures, 0), at_strengths(editor, pictures, 3)
    assert gender.mean(axis=0)[1:4] == pytest.approx([-1, 0, 1], abs=0.15)
    assert (np.diff(gender[:, 1:4], axis=1) > 0).all()  # every single face, within the range of the training
    assert np.abs(np.diff(smiling.mean(axis=0))).max() < 0.15
    edited = at_strengths(FaderEditor(weights=str(file), attribute="smiling"), pictures, 3)
    assert (np.diff(edited.mean(axis=0)) > 0.2).all()


def from_end_to_end(editor: FaderEditor, pictures, factor: int) -> float:
    """How far a factor moves on average while the strength goes from -1 to 1."""
    low, high = (see(resized(editor.edit(pictures, level), SIZE))[:, factor].mean() for level in (-1, 1))
    return float(high - low)


def test_what_is_not_held_goes_along_as_in_a_network_that_knows_the_attribute_alone(lessons, file, unseen, tmp_path):
    alone = replace(lessons, attributes=lessons.attributes[:, :1], names=NAMES[:1])
    save_fader(tmp_path / "alone.safetensors", trained(alone, SPEC), {})
    held, free, single = (
        FaderEditor(**options) for options in ({"weights": str(file)}, {"weights": str(file), "hold": False},
                                               {"weights": str(tmp_path / "alone.safetensors")})
    )  # fmt: skip
    assert (free.held, single.held) == ((), ())
    moved = [from_end_to_end(editor, unseen[0], 3) for editor in (held, free, single)]
    assert moved[0] < 0.3
    assert min(moved[1:]) > 0.45
    assert moved[1] == pytest.approx(moved[2], rel=0.5)
    edited = [from_end_to_end(editor, unseen[0], 0) for editor in (held, free, single)]
    assert edited == pytest.approx([2, 2, 2], abs=0.25), "the attribute itself is edited alike"


def test_at_its_own_value_nothing_goes_along(file, unseen):
    free = FaderEditor(weights=str(file), hold=False)
    own = float(free.read(unseen[0][:1])[0, 0])
    assert np.array_equal(free.edit(unseen[0][:1], own), unseen[0][:1])


def test_a_network_knows_what_goes_along_in_the_faces_it_learned_from(file, lessons):
    attributes = lessons.attributes.astype(float)
    slope = np.polyfit(attributes[:, 0], attributes[:, 1], 1)[0]
    fader, _ = load_fader(file)
    assert slope > 0.5
    assert float(fader.along[1, 0]) == pytest.approx(slope, abs=1e-3)
    shipped = FaderEditor().fader.along.numpy()
    assert np.abs(shipped - np.eye(len(shipped))).max() < 0.03, "its attributes were set by coins of their own"


def test_without_its_adversary_the_dial_does_nothing(lessons, unseen, tmp_path):
    """The test above can fail: a code that still holds the attribute has no use for the attribute."""
    idle = TrainSpec(width=8, adversary=0.0, rise=250, steps=450, mirror=False)
    save_fader(tmp_path / "idle.safetensors", trained(lessons, idle), {})
    gender = at_strengths(FaderEditor(weights=str(tmp_path / "idle.safetensors")), unseen[0], 0)
    assert (np.diff(gender.mean(axis=0)) < 0.3).all()


def twins(n: int, seed: int) -> Lessons:
    """Every face of the world twice: gender on its two sides, smiling by coins of their own, all else alike."""
    rng = np.random.default_rng(seed)
    factors = np.repeat(rng.normal(size=(n // 2, 10)) / 2, 2, axis=0)
    factors[:, 0] = np.repeat(rng.choice([-1, 1], n // 2), 2) * np.tile([1, -1], n // 2)
    factors[:, 3] = rng.choice([-1, 1], n)
    pictures = resized(to_pictures(draw(factors)), 32)
    return Lessons(pictures, factors[:, [0, 3]].astype(np.float32), NAMES, faces=np.arange(n) // 2)


def read_from_code(fader: Fader, learned: Lessons, new: Lessons) -> float:
    """AUC of a fresh network on the codes of faces that nobody learned from; the worse of the two attributes."""
    seen, codes_ = (codes(fader, lessons).astype(np.float32) for lessons in (learned, new))
    spread = StandardScaler().fit(seen)
    said = [
        MLPClassifier((64,), max_iter=60, early_stopping=True, random_state=0)
        .fit(spread.transform(seen), learned.attributes[:, k] > 0)
        .predict_proba(spread.transform(codes_))[:, 1]
        for k in (0, 1)
    ]
    return max(roc_auc_score(new.attributes[:, k] > 0, said[k]) for k in (0, 1))


def test_with_pairs_and_the_eraser_the_code_forgets(tmp_path):
    """And without them it does not, though its own discriminator is fooled no less."""
    learned, new = twins(900, 2), twins(300, 3)
    spec = replace(SPEC, code=4, batch=16, alike=1.0, adversary=0.03, steps=300, rise=100)
    alone = trained(replace(learned, faces=None), spec)
    paired = erased(trained(learned, spec), learned)
    assert read_from_code(alone, learned, new) > 0.8
    assert read_from_code(paired, learned, new) < 0.62
    save_fader(tmp_path / "paired.safetensors", paired, {})
    gender = at_strengths(FaderEditor(weights=str(tmp_path / "paired.safetensors")), new.pictures[:60], 0)
    assert (np.diff(gender.mean(axis=0)) > 0.3).all()


def test_a_face_is_drawn_again_and_its_attributes_are_read(file, unseen):
    pictures, attributes = unseen
    fader, card = load_fader(file)
    assert card == {"faces": 900}
    x = torch.from_numpy(to_signals(pictures))
    error = (fader(x, torch.from_numpy(attributes)) - x).square().mean()
    assert error < 0.3 * (x - x.mean(dim=0)).square().mean()
    assert ((fader.read(x).numpy() > 0) == (attributes > 0)).mean() > 0.97


def test_detail_is_kept_or_drawn(file, unseen):
    pictures, _ = unseen
    kept, drawn = FaderEditor(weights=str(file)), FaderEditor(weights=str(file), detail=DRAWN)
    own = kept.read(pictures)[:1, 0]
    back = kept.edit(pictures[:1], float(own[0]))  # at its own value a face is itself
    assert np.array_equal(back, pictures[:1])
    assert not np.array_equal(drawn.edit(pictures[:1], float(own[0])), pictures[:1])
    large = resized(pictures[:2], 100)
    assert kept.edit(large, 1.0).shape == (2, 100, 100, 3)
    with pytest.raises(SpecError, match=r"100 x 100 px.*32 x 32"):
        drawn.edit(large, 1.0)
    assert kept.edit(pictures[:0], 1.0).shape == (0, 32, 32, 3)


def test_drawn_again_is_the_networks_own_picture_whatever_is_kept(file, unseen):
    pictures, fader = unseen[0][:5], load_fader(file)[0]
    x = torch.from_numpy(to_signals(pictures))
    own = to_pictures(fader(x, fader.read(x)).numpy())
    for detail in (KEEP, DRAWN):
        editor = FaderEditor(weights=str(file), detail=detail)
        assert np.abs(editor.redraw(pictures).astype(int) - own).max() <= 1
    large = resized(pictures, 96)
    again = FaderEditor(weights=str(file)).redraw(large)
    assert again.shape == large.shape
    seen = resized(again, 32).astype(int)
    assert np.abs(seen - own).mean() < np.abs(seen - pictures).mean() / 2, "nearer to the drawing than to the picture"


def test_edits_do_not_depend_on_the_batch(file, unseen):
    editor = FaderEditor(weights=str(file))
    whole = editor.edit(unseen[0], 1.5).astype(int)
    parts = np.concatenate([editor.edit(unseen[0][i : i + 7], 1.5) for i in range(0, len(unseen[0]), 7)])
    assert np.abs(whole - parts).max() <= 1


@pytest.mark.parametrize("size", [32, 64, 128, 256])
def test_networks_of_every_size(size, tmp_path):
    fader = Fader(FaderShape(attributes=("a", "b", "c"), size=size, width=4)).eval()
    x, a = torch.zeros(2, 3, size, size), torch.zeros(2, 3)
    code = fader.encoder(x)
    assert code.shape[2:] == (4, 4)
    assert fader(x, a).shape == x.shape
    assert fader.discriminator()(code).shape == (2, 3)
    save_fader(tmp_path / "f.safetensors", fader, {})
    again, _ = load_fader(tmp_path / "f.safetensors")
    assert torch.allclose(again(x, a), fader(x, a), atol=1e-2)  # kept in half precision


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"attributes": ()}, "at least one"),
        ({"attributes": ("a", "a")}, "distinct attributes"),
        ({"attributes": ("a",), "size": 50}, "size is 50"),
        ({"attributes": ("a",), "width": 1}, "width is 1"),
        ({"attributes": ("a",), "code": -1}, "between 0 and 512 channels"),
    ],
)
def test_what_is_no_shape(options, says):
    with pytest.raises(SpecError, match=says):
        FaderShape(**options)


def test_what_is_no_editor(file, tmp_path):
    with pytest.raises(SpecError, match=r"no attribute 'age'. Choose one of 'perceived_gender', 'smiling'"):
        FaderEditor(weights=str(file), attribute="age")
    with pytest.raises(SpecError, match="'keep' or 'drawn'"):
        FaderEditor(weights=str(file), detail="sharp")
    from safetensors.torch import save_file

    save_file({}, tmp_path / "x.safetensors", {"network": "fader", "shape": json.dumps({"size": 64})})
    with pytest.raises(WeightsError, match="no valid description of its fader network"):
        FaderEditor(weights=str(tmp_path / "x.safetensors"))
