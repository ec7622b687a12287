"""The real-or-generated study, rehearsed: 200 photographs and 200 drawn faces by tone, simulated raters.

    python -m benchmarks.crowd make --work DIR         pictures and their measured tone; needs LIKEWISE_DATA; resumes
    python -m benchmarks.crowd rehearse --work DIR     five studies over HTTP; a study that is done is not run again
    python -m benchmarks.crowd report --work DIR       the tables 2 to 5 of Guo, Zhu and Huang 2022, and skin tone

The photographs are the lightest and the darkest 100 of 300 of the CelebA-HQ pool by measured ITA; the drawn faces are
moved to either end of skin tone, 100 each. One study asks for the Fitzpatrick type (3 raters an image), four ask for
real or generated (5 raters an image): two pays, with and without attention questions. Simulated raters answer with
the probabilities of ``PASS`` and ``FAIL``, so the tables have a known truth. DIR holds photographs: keep it to
yourself.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

import likewise as lw
from benchmarks.projection import DATA
from likewise.analysis.crowd.scales import scales
from likewise.analysis.crowd.skin_tone import tone_agreement
from likewise.cli.study.server import open_site
from likewise.runtime.pixels import save
from likewise.runtime.registry import create, to_pictures
from likewise.study.config.load import read_study
from likewise.study.plan import Study
from likewise.study.rehearsal.crowd import quick_clock, send
from likewise.study.rehearsal.simulate import OPTION, Choose
from likewise.study.server.context import Site
from likewise.study.store.export import comments, ratings, read_collected
from likewise.study.store.schema import sqlite_url
from likewise.tables import Contrast, Images, Ratings

HALF, CANDIDATES, SIZE, SEED = 100, 300, 256, 11
BANDS = (55.0, 41.0, 28.0, 10.0, -30.0)
"""ITA in degrees between the Fitzpatrick types I to VI, the usual bands of dermatology."""
CONDITIONS = ("no attention, low pay", "attention, low pay", "no attention, high pay", "attention, high pay")
PASS = {
    CONDITIONS[0]: (0.29, 0.39), CONDITIONS[1]: (0.41, 0.40), CONDITIONS[2]: (0.25, 0.32), CONDITIONS[3]: (0.33, 0.36),
}  # fmt: skip
"""Probability that a drawn face is taken for real: darker, lighter. The first two are near the paper's figures."""
FAIL = {CONDITIONS[0]: 0.29, CONDITIONS[1]: 0.33, CONDITIONS[2]: 0.25, CONDITIONS[3]: 0.28}
"""Probability that a photograph is taken for generated."""
COMMENTED, UNSURE, NEAR = 0.06, (0.64, 0.28, 0.08), 0.7
"""Share of answers with a comment; shares of completely, fairly, not sure; share of tones that are answered exactly."""
TONE = Contrast("tone", "darker", "lighter")
STUDY = """format = 2
title = "{title}"
kind = "{kind}"
seed = {seed}
raters = {raters}
raters_per_unit = {each}
tasks_per_rater = 40
{extra}
[units]
table = "../units.csv"
images = "../images"
group = "tone"

[consent]
contact = "study@example.org"
text = "Simulated raters."
"""
ATTENTION = """
[attention]
per_rater = 2
"""
ITEM = """
[[attention.item]]
image = "{image}"
question = "Does this person wear glasses?"
options = [{{ value = 1, label = "Yes" }}, {{ value = 0, label = "No" }}]
answer = {answer}
"""


def make(work: Path) -> None:
    """Choose photographs, draw faces, measure their tone, write the table of units."""
    (work / "images").mkdir(parents=True, exist_ok=True)
    if (work / "units.csv").is_file():
        return
    table = pd.concat([_photographs(work), _drawn(work)], ignore_index=True)
    table["fitzpatrick"] = 1 + sum((table["measured_ita"] < band).astype(int) for band in BANDS)
    table.to_csv(work / "units.csv", index=False)
    print(table.groupby(["made_by", "tone"])["measured_ita"].describe().round(1).to_string())


def _photographs(work: Path) -> pd.DataFrame:
    faces = pd.read_parquet(DATA / "celebahq" / "faces.parquet").set_index("image")
    pool = faces.loc[pd.read_csv(DATA / "celebahq" / "pool.csv")["image"]].reset_index()
    pool = pool.drop_duplicates("identity").sample(CANDIDATES, random_state=SEED).reset_index(drop=True)
    measure = create("classifier", "skin-tone")
    shown = [np.asarray(Image.open(DATA / "celebahq" / "images" / name).convert("RGB"))[None] for name in pool["image"]]
    pool["measured_ita"] = [90 - 150 * float(measure.score(one)["darker"][0]) for one in shown]
    pool["picture"] = range(len(pool))
    pool = pool.dropna(subset=["measured_ita"]).sort_values("measured_ita")
    kept = pd.concat([pool.head(HALF).assign(tone="darker"), pool.tail(HALF).assign(tone="lighter")])
    names = [f"r{number:03d}.png" for number in range(len(kept))]
    middle = pool.iloc[HALF:-HALF].assign(answer=(pool["Eyeglasses"] > 0).astype(int))
    asked = pd.concat([part.head(4) for _, part in middle.groupby("answer")])
    asked["image"] = [f"q{number}.png" for number in range(len(asked))]
    asked[["image", "answer"]].to_csv(work / "attention.csv", index=False)
    for name, row in zip([*names, *asked["image"]], [*kept["picture"], *asked["picture"]], strict=True):
        save(work / "images" / name, shown[row][0])
    return pd.DataFrame({
        "image": names, "identity": kept["identity"].astype(str).to_numpy(), "made_by": "camera",
        "tone": kept["tone"].to_numpy(), "measured_ita": kept["measured_ita"].to_numpy(),
    })  # fmt: skip


def _drawn(work: Path) -> pd.DataFrame:
    from likewise.counterfactuals.editor_pairs import ATTRIBUTES, Mover, latents  # noqa: PLC0415  # networks load late
    from likewise.latents.directions import shipped  # noqa: PLC0415

    generator, measure = create("generator", "mobilestylegan"), create("classifier", "skin-tone")
    mover = Mover.of(shipped("mobilestylegan"), ATTRIBUTES[1])
    rows, rng = [], np.random.default_rng(SEED)
    for tone, place in (("darker", 1.0), ("lighter", -1.0)):
        w = latents(generator, HALF, rng)
        for number, moved in enumerate(mover.moved(w, np.full(HALF, place))):
            name = f"{tone[0]}{number:03d}.png"
            picture = to_pictures(generator.synthesize(moved[None], SIZE))
            save(work / "images" / name, picture[0])
            angle = 90 - 150 * float(measure.score(picture)["darker"][0])
            rows.append({"image": name, "identity": f"drawn-{name}", "made_by": "generator", "tone": tone,
                         "measured_ita": angle})  # fmt: skip
    return pd.DataFrame(rows).dropna(subset=["measured_ita"])


def rehearse(work: Path) -> None:
    """Serve each study on this machine, and send simulated raters through it."""
    units = pd.read_csv(work / "units.csv").set_index("image")
    for number, name in enumerate(["skin tone", *CONDITIONS]):
        folder = work / f"study-{number}"
        if (folder / "answers.parquet").is_file():
            continue
        study = _study(folder, name, number, units)
        database = folder / "rehearsal.sqlite"
        database.unlink(missing_ok=True)
        site = open_site(folder, sqlite_url(database), clock=quick_clock())
        choosers = [_chooser(study, site, name, units, [SEED, number, k]) for k in range(study.raters)]
        walks = send(site, choosers, at_once=10)
        data = read_collected(site.engine, study)
        answers = ratings(data).frame
        said = comments(data)
        said.to_csv(folder / "comments.csv", index=False)
        site.engine.dispose()
        Ratings(answers).write(folder / "answers.parquet")
        print(f"{name}: {len(walks)} raters, {len(answers)} answers, {len(said)} comments", flush=True)


def _study(folder: Path, name: str, number: int, units: pd.DataFrame) -> Study:
    folder.mkdir(parents=True, exist_ok=True)
    tone = name == "skin tone"
    each = 3 if tone else 5
    raters = -(-len(units) * each // 40) + 2
    text = STUDY.format(title=name, kind="skin-tone" if tone else "real-or-fake", seed=number, raters=raters, each=each,
                        extra="" if tone else "certainty = true\ncomment = true")  # fmt: skip
    if name.startswith("attention"):
        asked = pd.read_csv(folder.parent / "attention.csv")
        text += ATTENTION + "".join(
            ITEM.format(image=image, answer=right) for image, right in zip(asked["image"], asked["answer"], strict=True)
        )
    (folder / "study.toml").write_text(text)
    return read_study(folder)


def _chooser(study: Study, site: Site, name: str, units: pd.DataFrame, seed: list[int]) -> Choose:
    """Return a simulated rater; raters differ by a shift of their probabilities."""
    rng = np.random.default_rng(seed)
    answer = _tone_answer(units, rng) if name == "skin tone" else _real_answer(name, units, rng, rng.normal(0, 0.05))

    def choose(opaque: str, form: str) -> dict[str, str]:
        item = study.items[site.item_of[opaque]]
        field = OPTION.findall(form)[0][0]
        if item.answer:  # an attention question
            return {field: f"{next(iter(item.answer.values())):g}"} | _sure(form, rng)
        commented = {"comment": "simulated"} if 'name="comment"' in form and rng.random() < COMMENTED else {}
        return {field: f"{answer(Path(item.images[0]).name):g}"} | _sure(form, rng) | commented

    return choose


def _sure(form: str, rng: np.random.Generator) -> dict[str, str]:
    return {"certainty": str(rng.choice(3, p=UNSURE))} if 'name="certainty"' in form else {}


def _tone_answer(units: pd.DataFrame, rng: np.random.Generator) -> Callable[[str], float]:
    types = {str(image): int(step) for image, step in units["fitzpatrick"].items()}

    def answer(image: str) -> float:
        step = 0 if rng.random() < NEAR else int(rng.choice([-1, 1]))
        return float(min(max(types[image] + step, 1), 6))

    return answer


def _real_answer(name: str, units: pd.DataFrame, rng: np.random.Generator, shift: float) -> Callable[[str], float]:
    def answer(image: str) -> float:
        drawn, darker = units.loc[image, "made_by"] == "generator", units.loc[image, "tone"] == "darker"
        real = PASS[name][0 if darker else 1] if drawn else 1 - FAIL[name]
        return float(rng.random() < real + shift)

    return answer


def report(work: Path) -> None:
    """Print the tables, each beside its known truth."""
    frame = pd.read_csv(work / "units.csv")
    images = Images(frame)
    parts = []
    for number, name in enumerate(CONDITIONS, start=1):
        part = Ratings.read(work / f"study-{number}" / "answers.parquet").frame
        parts.append(part.assign(session=name, rater=f"{number}-" + part["rater"].astype(str)))
    answers = Ratings(pd.concat(parts, ignore_index=True))
    units = _units(answers.frame, frame)
    _tables_2_and_3(Ratings(units), images)
    _table_4(Ratings(units), images)
    _table_5(work, units, frame)
    tones = Ratings(_units(Ratings.read(work / "study-0" / "answers.parquet").frame, frame))
    print("\nSkin tone: measured ITA against the answers")
    found = tone_agreement(tones, images, question="skin_tone", measured="measured_ita").frame
    print(found[["stat", "estimate", "low", "high", "n"]].round(3).to_string(index=False))
    share = tones.frame.merge(frame, left_on="unit", right_on="image")
    grouped = share.assign(lighter=share["value"] <= 3).groupby("unit")["lighter"].mean().gt(0.5)
    print(f"labeled lighter (types I to III) by the majority: {grouped.sum()} of {len(grouped)}")


def _units(answers: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return the answers with units named by their pictures, as the table of images has them."""
    known = set(frame["image"])
    return answers.assign(unit=[unit if unit in known else Path(unit).name for unit in answers["unit"]])


def _tables_2_and_3(answers: Ratings, images: Images) -> None:
    arms = answers.frame["session"].astype(str).tolist()
    found = lw.quality(answers, images, TONE, made_by="made_by", generated="generator", arms=arms).frame
    print("\nTables 2 and 3: pass rate and quality by tone, and the gap (darker - lighter)")
    wanted = found[found["stat"].isin(["pass_rate", "base_failure", "quality", "gap", "log_odds_gap"])]
    print(wanted[["sample", "stat", "group", "estimate", "low", "high", "n"]].round(3).to_string(index=False))
    for name, (darker, lighter) in PASS.items():
        whole = 1 - FAIL[name]
        print(
            f"truth, {name}: pass rate {darker} and {lighter}, quality {darker / whole:.3f} and {lighter / whole:.3f}"
        )


def _table_4(answers: Ratings, images: Images) -> None:
    print("\nTable 4: mean certainty (0 completely sure, 2 not sure)")
    mean = sum(k * share for k, share in enumerate(UNSURE))
    for name, part in answers.frame.groupby("session"):
        for made in ("camera", "generator"):
            some = part[part["unit"].map(images.attribute("made_by")) == made]
            found = scales(Ratings(some), images, TONE, question="judged_real", column="confidence").frame
            for _, one in found[found["stat"] == "mean"].iterrows():
                ends = f"{one['low']:.3f} to {one['high']:.3f}"
                print(f"{name}, {made}, {one['group']}: {one['estimate']:.3f} ({ends}); truth {mean:.2f}")


def _table_5(work: Path, answers: pd.DataFrame, frame: pd.DataFrame) -> None:
    print("\nTable 5: comments, accuracy of answers with one, overall accuracy")
    real = frame.set_index("image")["made_by"].eq("camera")
    right = answers["value"].eq(1) == answers["unit"].map(real)
    for number, name in enumerate(CONDITIONS, start=1):
        said = pd.read_csv(work / f"study-{number}" / "comments.csv")
        said = _units(said[said["kind"] == "work"], frame)
        pairs = set(zip(said["unit"], f"{number}-" + said["rater"].astype(str), strict=True))
        own = answers["session"] == name
        commented = np.array([pair in pairs for pair in zip(answers["unit"], answers["rater"], strict=True)])
        chosen = own & commented
        print(f"{name}: {chosen.sum()} comments, {right[chosen].mean():.3f} with one, {right[own].mean():.3f} overall")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["make", "rehearse", "report"])
    parser.add_argument("--work", type=Path, required=True)
    given = parser.parse_args()
    {"make": make, "rehearse": rehearse, "report": report}[given.what](given.work)
