"""StyleGAN2 draws what a second implementation draws, from each kind of checkpoint, and runs nothing of a file."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from likewise.data.align import AlignSpec, settled
from likewise.errors import LikewiseError, PluginError, SpecError, UnsafeFileError, VectorError, WeightsError
from likewise.models.differentiable import DifferentiableGenerator, differentiable
from likewise.models.generators.stylegan2 import StyleGAN2
from likewise.runtime.registry import create
from likewise.weights.add import add_file
from likewise.weights.convert.stylegan2 import nvidia as stylegan2_nvidia
from likewise.weights.convert.stylegan2 import own_form as stylegan2_safetensors
from likewise.weights.convert.stylegan2 import rosinality as stylegan2_rosinality
from likewise.weights.convert.stylegan2 import tensorflow as stylegan2_tensorflow
from likewise.weights.convert.stylegan2.network import Config
from numpy_stylegan2 import drawn, mapped
from stylegan2_files import Shape, nvidia, raw, rosinality, tensorflow

OWN = stylegan2_safetensors
READERS = {"nvidia": stylegan2_nvidia, "tensorflow": stylegan2_tensorflow, "rosinality": stylegan2_rosinality}
MAKERS = {"nvidia": nvidia, "tensorflow": tensorflow, "rosinality": rosinality}
SHAPES = {
    "skip": Shape(),
    "wide": Shape(channels=(6, 14), z_dim=24, w_dim=12, mapping=(20, 12)),
    "larger": Shape(channels=(8, 8, 6, 4, 4), mapping=(16,) * 8),
    "no-noise": Shape(noise=False),
    "clamped": Shape(clamp=0.9),
    "resnet": Shape(architecture="resnet"),
    "orig": Shape(architecture="orig"),
    "labels": Shape(labels=3),
}
CASES = [(kind, name) for kind in MAKERS for name in SHAPES]
CASES = [case for case in CASES if case[0] != "rosinality" or case[1] in {"skip", "larger", "no-noise"}]


def converted(tmp_path, kind, shape, tensors, **options):
    MAKERS[kind](tmp_path / "given", shape, tensors, **options)
    READERS[kind].convert({"given": tmp_path / "given"}, tmp_path / "kept.safetensors")
    return str(tmp_path / "kept.safetensors")


@pytest.fixture
def kept(tmp_path):
    tensors = raw(SHAPES["skip"], seed=1)
    return converted(tmp_path, "nvidia", SHAPES["skip"], tensors), SHAPES["skip"], tensors


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_each_checkpoint_is_drawn_as_a_second_implementation_draws_it(tmp_path, kind, name):
    shape = SHAPES[name]
    tensors = raw(shape, seed=len(kind) + len(name))
    label = 1 if shape.labels else -1
    generator = StyleGAN2(converted(tmp_path, kind, shape, tensors), label=label)
    assert (generator.rows, generator.dim, generator.resolution) == (
        2 * len(shape.channels),
        shape.w_dim,
        shape.sizes[-1],
    )
    z = np.random.default_rng(0).normal(size=(2, shape.z_dim))
    expected = [mapped(shape, tensors, row, label if shape.labels else None) for row in z]
    np.testing.assert_allclose(generator.map(torch.tensor(z, dtype=torch.float32)), expected, rtol=1e-4, atol=1e-4)
    w = np.random.default_rng(1).normal(size=(2, generator.rows, generator.dim)).astype(np.float32)
    images = generator.draw(torch.from_numpy(w)).numpy()
    np.testing.assert_allclose(images, [drawn(shape, tensors, row) for row in w.astype(float)], atol=2e-4)
    np.testing.assert_allclose(generator.mean_w(), tensors["mapping.w_avg"], atol=1e-6)


@pytest.mark.parametrize(("kind", "protocols"), [("nvidia", (2, 3, 4, 5)), ("tensorflow", (2, 3, 4, 5))])
def test_pickles_of_every_protocol_are_read(tmp_path, kind, protocols):
    tensors = raw(SHAPES["skip"], seed=0)
    files = [load_file(converted(tmp_path, kind, SHAPES["skip"], tensors, protocol=p)) for p in protocols]
    for held in files[1:]:
        assert all(np.array_equal(held[name], files[0][name]) for name in files[0])


@pytest.mark.parametrize("kind", sorted(READERS))
def test_a_checkpoint_is_recognized_by_its_content_alone(tmp_path, kind):
    MAKERS[kind](tmp_path / "given", SHAPES["skip"], raw(SHAPES["skip"], 0))
    findings = {name: reader.recognize(tmp_path / "given") for name, reader in READERS.items()}
    assert [name for name, found in findings.items() if found] == [kind]
    assert "16 px, 6 x 16, skip" in findings[kind].summary
    assert findings[kind].role == "generator"
    for name, content in {"text": b"hello", "plain": pickle.dumps({"a": 1}), "nothing": b""}.items():
        (tmp_path / name).write_bytes(content)
        assert READERS[kind].recognize(tmp_path / name) is None


@pytest.mark.parametrize("kind", sorted(READERS))
def test_weights_add_takes_a_checkpoint_in(tmp_path, kind, monkeypatch):
    monkeypatch.setenv("LIKEWISE_HOME", str(tmp_path / "home"))
    tensors = raw(SHAPES["skip"], 0)
    MAKERS[kind](tmp_path / "given", SHAPES["skip"], tensors)
    added = add_file(tmp_path / "given", name="mine", license="CC-BY")
    assert added.finding.summary.startswith("StyleGAN2 generator")
    generator = create("generator", "stylegan2", {"weights": "mine"})
    assert generator.license == "CC-BY"
    w = np.random.default_rng(1).normal(size=(6, 16))
    np.testing.assert_allclose(
        generator.draw(torch.tensor(w[None], dtype=torch.float32))[0], drawn(SHAPES["skip"], tensors, w), atol=2e-4
    )


def test_a_file_of_our_own_form_is_checked_and_taken(kept, tmp_path):
    path, shape, _ = kept
    assert "own form): 16 px, 6 x 16" in OWN.recognize(Path(path)).summary
    OWN.convert({"a": Path(path)}, tmp_path / "copy.safetensors")
    held, copy = load_file(path), load_file(tmp_path / "copy.safetensors")
    assert all(np.array_equal(held[name], copy[name]) for name in held)
    save_file({"a": np.zeros(2)}, tmp_path / "other.safetensors", {"network": "vgg16"})
    (tmp_path / "text").write_text("hello")
    assert OWN.recognize(tmp_path / "other.safetensors") is None
    assert OWN.recognize(tmp_path / "text") is None
    del held["const"]
    config = Config(resolution=16, channels=shape.channels, z_dim=16, w_dim=16, mapping=(16, 16))
    save_file(held, tmp_path / "short.safetensors", {"network": "stylegan2", "config": config.to_json()})
    with pytest.raises(WeightsError, match="missing 'const'"):
        OWN.convert({"a": tmp_path / "short.safetensors"}, tmp_path / "made")


def test_it_keeps_the_slot(kept):
    path, _, _ = kept
    generator = StyleGAN2(path)
    assert differentiable(generator, DifferentiableGenerator) is generator
    w = generator.sample_w(6, seed=3)
    np.testing.assert_array_equal(w, generator.sample_w(6, seed=3))
    whole = generator.synthesize(w)
    np.testing.assert_allclose(generator.synthesize(w[4:5])[0], whole[4], atol=1e-5)
    assert np.abs(whole).max() <= 1
    half = StyleGAN2(path, truncation=0.5)
    np.testing.assert_allclose(half.sample_w(6, seed=3), (w + generator.mean_w()) / 2, atol=1e-5)
    mean, spread = generator.statistics_w(2000, seed=1)
    again = generator.sample_w(2000, seed=1)
    np.testing.assert_allclose(mean, again.mean(axis=0), atol=1e-5)
    assert spread == pytest.approx(np.sqrt(again.var(axis=0).sum()), rel=1e-4)


def test_gradients_reach_latents_and_noise(kept):
    path, shape, tensors = kept
    generator = StyleGAN2(path)
    w = torch.randn(1, 6, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()
    noise = [part.requires_grad_() for part in generator.noise_maps()]
    np.testing.assert_allclose(generator.draw_with(w, noise).detach(), generator.draw(w).detach(), atol=1e-6)
    slopes = torch.autograd.grad(generator.draw_with(w, noise).square().sum(), [w, *noise])
    assert all(slope.abs().max() > 0 for slope in slopes)
    assert (slopes[0].abs().amax(dim=2) > 0).all()
    silent = StyleGAN2(path, noise="none")
    np.testing.assert_allclose(
        silent.draw(w).detach()[0], drawn(shape, tensors, w[0].detach().double().numpy(), noise=False), atol=2e-4
    )
    with pytest.raises(VectorError, match="2 noise maps do not fit"):
        generator.draw_with(w, noise[:2])


def test_a_mean_that_a_file_lacks_is_made(tmp_path):
    shape = SHAPES["skip"]
    generator = StyleGAN2(converted(tmp_path, "rosinality", shape, raw(shape, 2), mean=False))
    w = generator.sample_w(4000, seed=5)
    apart = np.abs(w.mean(axis=0) - generator.mean_w()) / (w.std(axis=0) * np.sqrt(1 / 4000 + 1 / 10_000))
    assert apart.max() < 5


def test_half_precision_becomes_float32(kept, tmp_path):
    path, shape, _ = kept
    halves = {name: value.astype(np.float16) for name, value in load_file(path).items()}
    config = Config(resolution=16, channels=shape.channels, z_dim=16, w_dim=16, mapping=(16, 16))
    metadata = {"network": "stylegan2", "config": config.to_json()}
    save_file(halves, tmp_path / "half.safetensors", metadata)
    w = torch.zeros(1, 16)
    drawn_half = StyleGAN2(str(tmp_path / "half.safetensors")).draw(w)
    assert drawn_half.dtype == torch.float32
    np.testing.assert_allclose(drawn_half, StyleGAN2(path).draw(w), atol=0.02)


@pytest.mark.parametrize("kind", sorted(READERS))
@pytest.mark.parametrize("how", ["missing", "unknown", "shape"])
def test_a_tensor_too_few_too_many_or_misshapen_is_an_error(tmp_path, kind, how):
    tensors = raw(SHAPES["skip"], 0)
    if how == "missing":
        del tensors["synthesis.b8.conv0.weight"]
    elif how == "unknown":
        tensors["synthesis.b8.conv0.bias_two"] = np.zeros(3, np.float32)
        if kind == "rosinality":
            tensors.pop("synthesis.b8.conv0.bias_two")
    else:
        tensors["synthesis.b8.conv0.weight"] = np.zeros((10, 13, 3, 3), np.float32)
    change = (
        (lambda state: state.update({"convs.0.extra": torch.zeros(1)}))
        if (kind, how) == ("rosinality", "unknown")
        else None
    )
    with pytest.raises(WeightsError, match=r"Conv0_up|b8\.conv0|convs\.0|blocks\.1\.conv0"):
        converted(tmp_path, kind, SHAPES["skip"], tensors, change=change)
    assert not (tmp_path / "kept.safetensors").exists()


class Boom:
    """Runs a command when it is unpickled carelessly."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.system, (f"touch {self.path}",)


@pytest.mark.parametrize("kind", ["nvidia", "tensorflow"])
def test_a_hostile_pickle_is_refused_and_not_run(tmp_path, kind):
    mark = tmp_path / "ran"

    def poison(held):
        held["static_kwargs" if kind == "tensorflow" else "training_set_kwargs"] = {"a": [Boom(mark)]}

    MAKERS[kind](tmp_path / "given", SHAPES["skip"], raw(SHAPES["skip"], 0), change=poison)
    for act in (READERS[kind].recognize, lambda path: READERS[kind].convert({"a": path}, tmp_path / "kept")):
        with pytest.raises(UnsafeFileError, match="system"):
            act(tmp_path / "given")
    assert not mark.exists()


def test_a_hostile_storage_inside_a_pickle_is_refused(tmp_path):
    mark = tmp_path / "ran"

    class Sly:
        def __reduce__(self):
            return torch.storage._load_from_bytes, (pickle.dumps(Boom(mark)),)

    nvidia(tmp_path / "given", SHAPES["skip"], raw(SHAPES["skip"], 0), change=lambda held: held.update(D=Sly()))
    with pytest.raises(UnsafeFileError):
        stylegan2_nvidia.recognize(tmp_path / "given")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state["static_kwargs"].update(swirl=2), "swirl = 2"),
        (lambda state: state["static_kwargs"].update(nonlinearity="relu"), "nonlinearity = 'relu'"),
        (lambda state: state.update(version=3), "version 4"),
        (lambda state: state.update(variables=[]), "dlatent_avg"),
    ],
)
def test_an_unknown_config_says_which_keys(tmp_path, change, said):
    with pytest.raises(WeightsError, match=said):
        converted(tmp_path, "tensorflow", SHAPES["skip"], raw(SHAPES["skip"], 0), change=change)


def test_a_stylegan3_is_not_taken_for_a_stylegan2(tmp_path):
    def rename(held):
        parts = held["G_ema"].state["_modules"]["synthesis"].state["_modules"]
        parts["L0_36_16"] = parts.pop("b4")

    with pytest.raises(WeightsError, match=r"'b4' is missing.*'L0_36_16'.*StyleGAN3"):
        converted(tmp_path, "nvidia", SHAPES["skip"], raw(SHAPES["skip"], 0), change=rename)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"truncation": 3.0}, "truncation is 3"),
        ({"noise": "random"}, "noise is 'random'"),
        ({"label": 1}, "conditional"),
        ({"weights": ""}, "likewise weights add"),
    ],
)
def test_meaningless_options_are_refused(kept, options, said):
    with pytest.raises(SpecError, match=said):
        StyleGAN2(**{"weights": kept[0], **options})


def test_it_says_in_which_frame_it_draws(kept):
    assert StyleGAN2(kept[0]).frame == "ffhq"
    assert settled(AlignSpec(size=64), StyleGAN2(kept[0])) == AlignSpec(frame="ffhq", size=64)
    assert StyleGAN2(kept[0], frame="chip").frame == "chip"
    with pytest.raises(PluginError, match="Unknown alignment template"):
        StyleGAN2(kept[0], frame="cats")
    with pytest.raises(PluginError, match="say in which frame"):
        settled(AlignSpec(), StyleGAN2(kept[0], frame=""))


def test_a_conditional_generator_wants_a_label(tmp_path):
    path = converted(tmp_path, "nvidia", SHAPES["labels"], raw(SHAPES["labels"], 0))
    with pytest.raises(LikewiseError, match="a label from 0 to 2"):
        StyleGAN2(path)
    assert not np.allclose(StyleGAN2(path, label=0).sample_w(1, 0), StyleGAN2(path, label=1).sample_w(1, 0))


@pytest.mark.parametrize("config", ['{"resolution": 12, "channels": [1]}', '{"size": 3}', "nonsense", "[]", "{}"])
def test_a_config_that_makes_no_sense_is_refused(config):
    with pytest.raises(WeightsError):
        Config.from_json(config)
