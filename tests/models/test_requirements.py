import subprocess
import sys

import pytest

from likewise.errors import WeightsError
from likewise.models.requirements import DETECTORS, ENCODER, SEGMENTER, research_only
from likewise.runtime.registry import components, register
from likewise.runtime.requirements import Requirements, requirements
from likewise.weights import CATALOG, cache

NETWORKS = [
    ("recognizer", "dlib", {"dlib-resnet", "dlib-landmarks-5"}),
    ("recognizer", "faceplugin", {"faceplugin", "retinaface"}),
    ("recognizer", "facenet", {"facenet", "dlib-landmarks-5"}),
    ("classifier", "gender", {"gender-v1", "dlib-landmarks-5"}),
    ("classifier", "efficientnet-lite", {"efficientnet-lite0"}),
    ("perceptual", "lpips-vgg", {"lpips-vgg16"}),
    ("perceptual", "vgg-l1", {"lpips-vgg16"}),
    ("generator", "mobilestylegan", {"mobilestylegan-ffhq"}),
    ("editor", "direction", {"mobilestylegan-ffhq"}),
]

OWN = {
    "generator": ["mobilestylegan", "stylegan2"],
    "editor": ["direction", "distilled", "fader"],
    "recognizer": ["dlib", "facenet", "faceplugin", "faceres", "mobilefacenet", "onnx", "openface"],
    "classifier": ["age", "efficientnet-lite", "emotion", "faceres-age", "faceres-gender", "gear", "gender", "onnx"],
    "perceptual": ["lpips-alex", "lpips-vgg", "vgg-l1"],
}


@pytest.mark.parametrize(("kind", "name", "weights"), NETWORKS)
def test_indirect_weights_are_named(kind, name, weights):
    assert set(requirements(kind, name).weights) == weights


def test_options_change_what_is_needed(tmp_path):
    assert requirements("classifier", "efficientnet-lite", {"variant": 2}).weights == ("efficientnet-lite2",)
    by_retinaface = requirements("classifier", "age", {"detector": "retinaface"})
    assert by_retinaface.weights == ("age-v1", "retinaface")
    assert ("torch", "torch") in by_retinaface.packages
    own = tmp_path / "own.safetensors"
    own.write_bytes(b"x")
    assert requirements("generator", "mobilestylegan", {"weights": str(own)}).weights == ()
    assert requirements("generator", "stylegan2", {"weights": "mine"}).weights == ("mine",)


def test_a_model_card_names_its_model_and_its_detector(tmp_path):
    card = tmp_path / "card.toml"
    text = 'name = "n"\nfamily = "n"\nlicense = "mine"\nmodel = "faceplugin"\nthreshold = 0.4\nset_on = "pairs"\n'
    card.write_text(text + '[preprocessing]\nsize = 112\ndetector = "dlib"\n')
    assert set(requirements("recognizer", "onnx", {"card": str(card)}).weights) == {"faceplugin", "dlib-landmarks-5"}
    assert requirements("recognizer", "onnx", {"card": str(tmp_path / "none")}).weights == ()


def test_every_network_of_likewise_has_a_rule_and_every_weight_is_in_the_catalog():
    for kind, names in OWN.items():
        assert set(names) <= set(components(kind)), kind
        for name in names:
            assert set(requirements(kind, name).weights) <= set(CATALOG), (kind, name)
    for needed in (*DETECTORS.values(), SEGMENTER, ENCODER):
        assert set(needed.weights) <= set(CATALOG)


def test_nothing_heavy_is_imported_for_the_answer():
    script = (
        "import sys\nfrom likewise.runtime.requirements import requirements\n"
        "assert requirements('perceptual', 'lpips-vgg').weights == ('lpips-vgg16',)\n"
        "assert requirements('recognizer', 'mobilefacenet').packages\n"
        "sys.exit(bool({'torch', 'onnxruntime', 'dlib'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_a_component_of_the_session_may_say_what_it_needs():
    def factory() -> None: ...

    factory.requirements = lambda options: Requirements(("mine",), (("no_such_package", "torch"),))
    register("recognizer", "says-what-it-needs", factory)
    found = requirements("recognizer", "says-what-it-needs")
    assert found.weights == ("mine",)
    assert found.missing_packages() == {"no_such_package": "torch"}
    assert requirements("recognizer", "unknown") == Requirements()


def test_research_only_parts_are_named_with_their_reason():
    assert any("StyleGAN2-FFHQ" in reason for reason in research_only("generator", "mobilestylegan"))
    assert any("StyleGAN2-FFHQ" in reason for reason in research_only("editor", "fader"))
    assert research_only("editor", "direction")
    assert research_only("recognizer", "dlib") == []


MADE = [(kind, name) for kind, name, _ in NETWORKS if kind not in ("generator", "editor")]


@pytest.mark.parametrize(("kind", "name"), MADE)
def test_a_component_reads_exactly_the_weights_it_names(kind, name, monkeypatch):
    """The table repeats the defaults of the components: what a component asks the cache for must be in the table."""
    asked: list[str] = []
    real, factory = cache.where, components(kind)[name]()

    def where(given):
        asked.append(str(given))
        raise WeightsError("stopped")

    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("likewise.") and getattr(module, "where", None) is real:
            monkeypatch.setattr(module, "where", where)
    with pytest.raises(WeightsError, match="stopped"):
        factory()
    assert set(asked) <= set(requirements(kind, name).weights)
    assert asked
