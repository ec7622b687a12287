"""Ready images, intersections, label noise, quality, refusals and the report of a text-to-image audit."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from benchmarks.generated_shares import ABOUT, mean_share, noisy, world
from benchmarks.stand_ins.images import KEY, drawing

import likewise as lw
from likewise.analysis.generated.corrected import corrected_shares
from likewise.analysis.generated.intersections import intersection_shares
from likewise.analysis.generated.shares import generated_shares
from likewise.errors import ImageError, ServiceError, SpecError, TableError
from likewise.generation import predictions, quality
from likewise.generation.labels import read_labels
from likewise.generation.predictions import Predicting
from likewise.generation.quality import RealImages
from likewise.generation.ready import ReadyImages
from likewise.generation.sources import EndpointSource
from likewise.runtime.executor import Silent
from likewise.runtime.pixels import save
from likewise.services.budget import Budget
from likewise.tables import Images
from shell import run

WOMEN = {"nurse": 0.9, "doctor": 0.3}
PROMPTS = [f"{start} {term}" for term in WOMEN for start in ("a photo of a", "a portrait of a", "a drawing of a")]


def paint(prompt: str, seed: int) -> np.ndarray | None:
    """A bright picture for a woman, a dark one for a man; the third seed of doctors is refused."""
    term = next(name for name in WOMEN if name in prompt)
    rng = np.random.default_rng([len(prompt), seed])
    if term == "doctor" and seed == 3:
        return None
    picture = np.full((16, 16, 3), 220 if rng.random() < WOMEN[term] else 40, np.uint8)
    picture[0, 0] = (seed, len(prompt), 0)
    return picture


@pytest.fixture
def networks(monkeypatch):
    """Stand-ins for the networks: brightness is gender, the left half is tone; a black picture shows nobody."""
    seen = []

    class Finder:
        license = "none"

        def find(self, picture: np.ndarray) -> list[int]:
            return [1] if picture.mean() > 10 else []

    def describe(images: Images, root, *, spec) -> Images:
        for key in images.keys:
            seen.append(key)
        bright = {key: predictions.decode(root / key).mean() > 128 for key in images.keys}
        for name in spec.columns:
            values = {"predicted_gender": ("female", "male"), "measured_ita": (40.0, 10.0)}[name]
            images = images.with_attribute(name, {key: values[not on] for key, on in bright.items()})
        return images

    class Describer:
        def licenses(self) -> dict[str, str]:
            return {"gender": "CC0"}

    monkeypatch.setattr(predictions, "detector", lambda name: Finder())
    monkeypatch.setattr(predictions, "describe", describe)
    monkeypatch.setattr(predictions, "describer", lambda spec: Describer())
    return seen


def shares(found: lw.Estimates, sample: str = "generated") -> dict[str, float]:
    frame = found.where(stat="share", sample=sample).frame
    return frame[frame["quantity"].str.contains("gender: ")].set_index("group")["estimate"].to_dict()


def test_a_function_in_python_gives_shares_intersections_refusals_and_a_report(tmp_path, networks):
    prompts = [{"text": text, "term": text.split()[-1]} for text in PROMPTS]
    found = lw.generate(
        prompts, source=paint, out=tmp_path, seeds=6, benchmark={"nurse": 0.5, "doctor": 0.5}, title="Who is drawn?"
    )
    drawn = [(text, seed) for text in PROMPTS for seed in range(6)]
    for term in WOMEN:
        own = [paint(text, seed) for text, seed in drawn if term in text]
        truth = np.mean([picture.mean() > 128 for picture in own if picture is not None])
        assert shares(found.estimates)[term] == pytest.approx(truth)
    refused = found.estimates.where(quantity="request refused").frame.set_index("group")["estimate"]
    assert refused.to_dict() == pytest.approx({"doctor": 1 / 6, "nurse": 0.0})
    cells = found.estimates.where(sample="intersection").frame
    assert cells.loc[cells["group"].str.startswith("nurse"), "estimate"].sum() == pytest.approx(1.0)
    page = (tmp_path / "report.html").read_text()
    for words in ("Who is drawn?", "Shares by term", "Intersections", "Refused requests", "Provenance", "Gallery"):
        assert words in page
    assert "data:image/jpeg" in page
    assert "requests were refused, by term: doctor 3" in page
    facts = json.loads((tmp_path / "generate.json").read_text())
    assert (facts["terms"], facts["prompts"], facts["seeds"], facts["drawn"]) == (2, 6, 6, 33)


def test_predictions_are_kept_by_file_and_survive_a_killed_run(tmp_path, networks, monkeypatch):
    folder = tmp_path / "images"
    for place in range(40):
        save(folder / "a-nurse" / f"{place}.png", np.full((8, 8, 3), 200 if place % 2 else 60, np.uint8) + place // 2)
    images = ReadyImages(folder=folder).read()
    real, calls = predictions.describe, []

    def stopped(*args, **given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args, **given)

    monkeypatch.setattr(predictions, "describe", stopped)
    work = Predicting(columns=("predicted_gender",))
    progress = Silent()
    with pytest.raises(KeyboardInterrupt):
        work.run(images, folder, tmp_path / "p.csv", progress)
    found = work.run(images, folder, tmp_path / "p.csv", progress)
    assert len(networks) == len(set(networks)) == 40  # nothing was described twice
    assert found.attribute("predicted_gender").value_counts().to_dict() == {"female": 20, "male": 20}


def test_a_ready_folder_by_prompt_and_seed(tmp_path, networks):
    for text in PROMPTS:
        for seed in range(4):
            picture = paint(text, seed)
            if picture is not None:
                save(tmp_path / "in" / text.replace(" ", "_") / f"{seed}.png", picture)
    code = lw.generate(source=tmp_path / "in", out=tmp_path / "out")
    frame = code.images.frame
    assert set(frame["prompt"]) == set(PROMPTS)
    assert set(frame["term"]) == set(PROMPTS)  # without a prompt file each prompt is a term
    again = lw.generate(
        [{"text": text, "term": text.split()[-1]} for text in PROMPTS],
        source=str(tmp_path / "in"),
        out=tmp_path / "two",
    )
    assert set(again.images.frame["term"]) == set(WOMEN)
    assert not (tmp_path / "two" / "images").exists()  # ready images stay where they are


def test_a_table_with_other_column_names_needs_no_pixel(tmp_path, capsys):
    rows = [{"search": term, "wording": f"{term} {k % 3}", "hit": k, "seen": "woman" if k % 4 else "man"}
            for term in ("cook", "pilot") for k in range(24)]  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "hits.csv", index=False)
    pd.DataFrame({"job": ["cook", "pilot", "cook"], "women": [0.4, 0.1, 0.4]}).to_csv(tmp_path / "b.csv", index=False)
    code, out, err = run(
        capsys, "generate", "--table", tmp_path / "hits.csv", "--prompt-column", "wording", "--term-column", "search",
        "--attribute", "seen", "--share-of", "woman", "--benchmark", tmp_path / "b.csv", "--benchmark-term", "job",
        "--benchmark-share", "women", "--out", tmp_path / "out", "--quiet",
    )  # fmt: skip
    assert code == 0, err
    found = lw.Estimates.read(tmp_path / "out" / "estimates.parquet")
    assert found.where(stat="share").frame["estimate"].tolist() == [0.75, 0.75]
    gap = found.where(stat="reference_gap").frame.set_index("group")
    assert gap["estimate"].to_dict() == pytest.approx({"cook": 0.35, "pilot": 0.65})
    assert gap["level"].tolist() == pytest.approx([0.975, 0.975])  # simultaneous over two terms
    assert "report:" in out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Gallery" not in page


def test_labels_of_a_random_part_correct_the_shares(tmp_path, networks):
    """Networks take a third of the women for men; labels of every second image give the share back."""
    images = world(0.5, 1, prompts=20, seeds=20)
    true = images.attribute("g")
    rng = np.random.default_rng(0)
    said = images.with_attribute("g", true.where(~((true == "f") & (rng.random(len(true)) < 1 / 3)), "m"))
    chosen = rng.permutation(len(true))[:200]
    labels = dict(zip(true.index[chosen], true.iloc[chosen], strict=True))
    found = corrected_shares(said, **ABOUT, labels=labels, benchmark={"t": 0.5})
    fixed = found.where(stat="share").frame.set_index("group")
    naive = generated_shares(said, **ABOUT).frame.iloc[0]["estimate"]
    assert naive < 0.4
    for group in ("t", "all terms"):
        assert abs(fixed.loc[group, "estimate"] - (true == "f").mean()) < 0.05
    accuracy = found.where(stat="label_accuracy").frame.set_index("group")["estimate"]
    assert accuracy["predicted f"] == 1.0
    assert accuracy["predicted m"] < 0.8


def test_labels_of_one_kind_correct_nothing():
    images = world(0.5, 1)
    labels = dict.fromkeys(images.keys[:40], "m") | dict.fromkeys(images.keys[40:44], "f")
    with pytest.raises(TableError, match="Only 4 labels"):
        corrected_shares(images, **ABOUT, labels=labels)


def test_corrected_shares_cover_and_predicted_ones_do_not():
    truth = mean_share(0.1)
    found = pd.DataFrame([noisy(world(0.1, seed), truth, 90, seed) for seed in range(80)]).mean()
    assert found["corrected, the term"] >= 0.88
    assert found["as predicted"] <= 0.85


def test_images_of_one_seed_are_clustered_too():
    truth = mean_share(0.5, float(np.hypot(0.5, 0.7)))
    both = alone = 0
    for seed in range(80):
        images = world(0.5, seed, shared=0.7)
        for place, each in enumerate((images, Images(images.frame.drop(columns="seed")))):
            row = generated_shares(each, **ABOUT).frame.iloc[0]
            held = row["low"] <= truth <= row["high"]
            both, alone = both + held * (place == 0), alone + held * (place == 1)
    assert both / 80 >= 0.87
    assert alone < both


def test_a_level_that_never_occurs_is_a_share_of_zero_only_if_it_can_occur():
    frame = pd.DataFrame({"image": list("abcd"), "identity": "x", "term": "t", "prompt": "p", "g": "m"})
    with pytest.raises(SpecError, match="add it to levels"):
        generated_shares(Images(frame), attribute="g", share_of="f")
    row = generated_shares(Images(frame), attribute="g", share_of="f", levels=("f", "m")).frame.iloc[0]
    assert row["estimate"] == 0
    assert row["high"] > 0.3


def test_responses_of_a_study_become_labels_by_majority(tmp_path):
    rows = [("a", 1), ("a", 1), ("a", 0), ("b", 0), ("b", 0), ("c", 1), ("c", 0)]
    frame = pd.DataFrame(rows, columns=["unit", "value"]).assign(rater=range(7), question="perceived")
    frame.to_parquet(tmp_path / "ratings.parquet")
    about = ("predicted_gender", "female", ("female", "male"))
    assert read_labels(tmp_path / "ratings.parquet", *about) == {"a": "female", "b": "male"}  # a tie is no label
    pd.DataFrame({"image": ["a", "a"], "label": ["female", "male"]}).to_csv(tmp_path / "l.csv", index=False)
    with pytest.raises(SpecError, match="different labels of 'a'"):
        read_labels(tmp_path / "l.csv", *about)
    pd.DataFrame({"picture": ["a"]}).to_csv(tmp_path / "m.csv", index=False)
    with pytest.raises(SpecError, match="Column 'image' not found"):
        read_labels(tmp_path / "m.csv", *about)


def test_quality_by_group_is_worse_for_the_group_that_is_drawn_badly(tmp_path, networks, monkeypatch):
    rng = np.random.default_rng(0)

    def features(places, keep, progress):
        shifted = [("out" in str(root)) and predictions.decode(root / key).mean() > 128 for root, key in places]
        return (rng.normal(0, 1, (len(places), 8)) + 3.0 * np.array(shifted)[:, None]).astype(np.float32)

    monkeypatch.setattr(quality, "kept_features", features)
    names = [f"{k}.png" for k in range(40)]
    for k, name in enumerate(names):
        save(tmp_path / "real" / name, np.full((8, 8, 3), k, np.uint8))
    table = pd.DataFrame({"image": names, "predicted_gender": ["female", "male"] * 20})
    table.to_csv(tmp_path / "real.csv", index=False)
    prompts = [{"text": text, "term": text.split()[-1]} for text in PROMPTS]
    real = RealImages(folder=tmp_path / "real", table=tmp_path / "real.csv")
    found = lw.generate(prompts, source=paint, out=tmp_path / "out", seeds=8, real=real)
    kid = found.estimates.where(stat="kid").frame.set_index("group")["estimate"]
    assert kid["female"] > kid["male"] + 1
    assert "Quality by group" in (tmp_path / "out" / "report.html").read_text()
    assert set(found.estimates.frame["stat"]) >= {"fid", "manifold_precision", "manifold_recall", "manifold_coverage"}


def test_accidents_of_an_endpoint_are_handled_counted_and_nothing_is_lost(tmp_path, networks, monkeypatch):
    monkeypatch.setenv("PAINT_KEY", KEY)
    with drawing(paint) as server:
        server.moods = ["throttled", "cut", "html", "text", "jpeg", "changed", "rewritten", "filter"]
        source = EndpointSource(endpoint=server.url, model="painter", key_env="PAINT_KEY", skip=("seed",), price=0.01)
        found = lw.generate(["a photo of a nurse"], source=source, out=tmp_path, seeds=12, budget=Budget(most=1))
        assert all("seed" not in request for request in server.requests)
    assert len(found.images) == 11
    said = pd.read_csv(tmp_path / "responses.csv")
    assert set(said["model"]) == {"painter-1", "painter-2"}
    assert any("2 models answered" in note for note in found.notes)
    assert any("rewrote 1 of 11 prompts" in note for note in found.notes)
    assert all(KEY.encode() not in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def test_an_address_instead_of_an_image_is_not_opened(tmp_path):
    with drawing(paint) as server:
        server.moods = ["url"]
        with pytest.raises(ServiceError, match="address of an image instead"):
            lw.generate(["a photo of a nurse"], source=server.url, out=tmp_path, seeds=1)


def test_a_study_is_planned_from_the_folder(tmp_path, networks, capsys):
    prompts = [{"text": text, "term": text.split()[-1]} for text in PROMPTS]
    lw.generate(prompts, source=paint, out=tmp_path / "drawn", seeds=6)
    code, out, err = run(capsys, "study", "init", tmp_path / "study", "--from", tmp_path / "drawn", "--units", "20")
    assert code == 0, err
    assert "20 images" in out
    code, out, err = run(capsys, "study", "plan", tmp_path / "study", "--no-power")
    assert code == 0, err
    units = pd.read_csv(tmp_path / "study" / "units.csv")
    assert len(units) == 20
    assert set(units["unit"]) <= set(pd.read_csv(tmp_path / "drawn" / "images.csv")["image"])
    code, _, err = run(capsys, "study", "init", tmp_path / "s2", "--from", tmp_path / "drawn", "--kind", "same-person")
    assert code == 2
    assert "no pairs" in err


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"attribute": "predicted_gendr"}, "Did you mean 'predicted_gender'"),
        ({"benchmark": {"nurse": 0.5}}, "no benchmark share for"),
        ({"benchmark": {"a photo of a nurse": 50.0}}, "outside 0 to 1"),
        ({"attribut": "x"}, "Did you mean 'attribute'"),
        ({"level": 95}, "confidence level"),
    ],
)
def test_bad_options_fail_before_the_first_image(tmp_path, given, problem):
    calls = []

    def source(prompt, seed):
        calls.append(seed)
        return paint(prompt, seed)

    with pytest.raises((SpecError, TableError), match=problem):
        lw.generate(["a photo of a nurse"], source=source, out=tmp_path, seeds=1, **given)
    assert not calls


def test_bad_folders_and_tables_are_explained(tmp_path):
    save(tmp_path / "flat" / "a.png", np.zeros((8, 8, 3), np.uint8))
    with pytest.raises(ImageError, match="not in a folder of its prompt"):
        ReadyImages(folder=tmp_path / "flat").read()
    (tmp_path / "empty").mkdir()
    with pytest.raises(ImageError, match="No images in"):
        ReadyImages(folder=tmp_path / "empty").read()
    pd.DataFrame({"image": ["../../etc/passwd"], "prompt": ["p"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ImageError):
        ReadyImages(folder=tmp_path / "flat", table=tmp_path / "t.csv").read()
    pd.DataFrame({"image": ["a.png", "a.png"], "prompt": ["p", "q"]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(TableError, match="occur twice"):
        ReadyImages(folder=tmp_path / "flat", table=tmp_path / "t.csv").read()
    with pytest.raises(SpecError, match="neither a folder nor a table"):
        ReadyImages()


def test_too_many_combinations_are_refused():
    frame = pd.DataFrame({"image": [str(k) for k in range(99)], "identity": "x", "term": "t", "prompt": "p"})
    images = Images(frame.assign(a=[str(k) for k in range(99)]))
    with pytest.raises(TableError, match="99 combinations"):
        intersection_shares(images, by=["a"])
