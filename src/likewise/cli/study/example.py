"""Example studies with drawn faces: commented and ready to serve."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd
from PIL import Image, ImageFilter

from likewise.errors import SpecError, StoreError, some
from likewise.runtime.pixels import save
from likewise.runtime.registry import to_pictures
from likewise.simulation import World
from likewise.simulation.scene import draw
from likewise.tables import Images
from likewise.tables.io import write_frame, write_text

Pictures = npt.NDArray[np.uint8]
SHOWN = 384
_HEAD = """\
# A human study. Check it with: likewise study plan {folder}
# Start it with: likewise study serve {folder}     From then on this file is frozen.
format = 2
title = {{ en = "{title}", de = "{titel}" }}
kind = "{kind}"                     # skin-tone, real-or-fake, same-person, or own (with [[question]])
seed = 7
languages = ["en", "de"]            # the first one is the default
raters = {raters}                        # how many raters are expected
raters_per_unit = {each}                 # responses that each unit gets
tasks_per_rater = {tasks}                # units that one rater rates at most

[units]
table = "units.csv"                 # one row per unit; columns: unit (optional), image (or a and b), others
images = "images"                   # the folder that file names are relative to
{group}
[consent]
contact = "study@example.org"
[consent.text]
en = \"\"\"You are asked to take part in a study of how people see faces. The faces are drawn by a computer.
We keep your answers and how long they took.\"\"\"
de = \"\"\"Wir bitten Sie, an einer Studie darüber teilzunehmen, wie Menschen Gesichter sehen. Die Gesichter hat
ein Computer gezeichnet. Wir speichern Ihre Antworten und wie lange sie dauerten.\"\"\"

[pay]
per_task = 0.03
currency = "USD"
fee = 0.33                          # fee of the platform on top
"""


_GROUP = 'group = "perceived_gender"          # for the power of the plan; never shown to raters\n'
_WHY = {
    True: (
        "There is a smear like a drop of water, and red bleeds over the edges.",
        "Da ist ein Fleck wie ein Wassertropfen, und Rot läuft über die Kanten.",
    ),
    False: ("Edges are clean, and nothing is smeared.", "Die Kanten sind sauber, und nichts ist verwischt."),
}


def make_example(folder: Path, kind: str) -> list[str]:
    """Write an example study of a kind into a folder; return what to do next."""
    makers: dict[str, Callable[[Path], str]] = {
        "real-or-fake": _real_or_fake,
        "skin-tone": _skin_tone,
        "same-person": _same_person,
    }
    if kind not in makers:
        raise SpecError(f"Unknown kind {kind!r}", fix=f"Choose one of {some(makers)}.")
    if (folder / "study.toml").exists():
        raise StoreError(f"{folder} already has a study (study.toml)", fix="Choose another folder.")
    write_text(folder / "study.toml", makers[kind](folder))
    return [f"study: {folder / 'study.toml'}", f"check it: likewise study plan {folder}"]


def _drawn(seed: int, identities: int, each: int = 2) -> tuple[Images, Pictures]:
    faces, factors = World(identities=identities, images_each=each, confounding=0.0, seed=seed).draw()
    return faces, _large(to_pictures(draw(factors)))


def _large(pictures: Pictures) -> Pictures:
    sized = [Image.fromarray(p).resize((SHOWN, SHOWN), Image.Resampling.BICUBIC) for p in pictures]
    return np.stack([np.asarray(image) for image in sized])


def spoiled(picture: Pictures, seed: int) -> Pictures:
    """Return a face with the marks of a poor generator: a smear like a drop of water, and bleeding color."""
    rng = np.random.default_rng(seed)
    image = Image.fromarray(picture)
    pixels = picture.astype(np.float64)
    pixels[:, :-9, 0] = pixels[:, 9:, 0]
    y, x = np.mgrid[:SHOWN, :SHOWN]
    at = rng.uniform(0.2, 0.8, 2) * SHOWN
    drop = np.exp(-(((y - at[0]) / 38) ** 2) - ((x - at[1]) / 26) ** 2)[..., None]
    blurred = np.asarray(image.filter(ImageFilter.GaussianBlur(14))).astype(np.float64)
    smeared: Pictures = np.clip(pixels * (1 - drop) + (0.6 * blurred + 90) * drop, 0, 255).astype(np.uint8)
    return smeared


def _keep(folder: Path, names: list[str], pictures: Pictures) -> None:
    for name, picture in zip(names, pictures, strict=True):
        save(folder / "images" / name, picture)


_CHECKS = """
[training]                          # practice with an explanation after each wrong answer
table = "training.csv"              # image, answer, explanation (or explanation_en, explanation_de)
qualify = 0.6                       # share of correct answers needed to qualify
tries = 2

[gold]                              # items with known answers, at random positions
per_rater = 2
{gold}
[attention]                         # questions that an attentive rater answers correctly
per_rater = 2
{watch}
[[arm]]
name = "attention"

[[arm]]
name = "no attention"
attention = false

[exclusion]                         # fixed before the first response
gold_below = 0.5
attention_missed = 2
median_seconds_below = 0.2
replace = true

[gap]                               # for: likewise study plan
focal = "female"
reference = "male"
rate = 0.4
"""


def _real_or_fake(folder: Path) -> str:
    faces, pictures = _drawn(11, identities=36, each=2)
    made = np.arange(len(faces)) % 2 == 1
    shown = np.stack([spoiled(p, k) if made[k] else p for k, p in enumerate(pictures)])
    names = [f"face-{k:03d}.png" for k in range(len(faces))]
    _keep(folder, names, shown)
    side = faces.frame["perceived_gender"].to_numpy()
    units = range(24, 72)
    source = ["generator" if made[k] else "camera" for k in units]
    columns = {"image": [names[k] for k in units], "made_by": source, "perceived_gender": [side[k] for k in units]}
    write_frame(folder / "units.csv", pd.DataFrame(columns))
    rows = [[names[k], int(not made[k]), *_WHY[bool(made[k])]] for k in range(10)]
    training = pd.DataFrame(rows, columns=["image", "answer", "explanation_en", "explanation_de"])
    write_frame(folder / "training.csv", training)
    gold = "".join(f'\n[[gold.item]]\nimage = "{names[k]}"\nanswer = {int(not made[k])}\n' for k in range(10, 16))
    watch = "".join(
        f'\n[[attention.item]]\nimage = "{names[k]}"\nquestion = {{ en = "Does this person wear glasses?", '
        f'de = "Trägt dieser Mensch eine Brille?" }}\noptions = [{{ value = 1, label = {{ en = "Yes", de = "Ja" }} }}, '
        f'{{ value = 0, label = {{ en = "No", de = "Nein" }} }}]\n'
        f"answer = {int(faces.frame['eyeglasses'].to_numpy()[k])}\n"
        for k in range(16, 20)
    )
    head = _HEAD.format(folder=folder.name, title="Real or generated?", titel="Echt oder künstlich?",
                        kind="real-or-fake", raters=24, each=5, tasks=24, group=_GROUP)  # fmt: skip
    return head.replace(
        "\n[units]", "certainty = true                    # completely, fairly, not sure\n\n[units]", 1
    ) + _CHECKS.format(gold=gold, watch=watch)


def _skin_tone(folder: Path) -> str:
    faces, factors = World(identities=30, images_each=2, confounding=0.0, seed=5).draw()
    pictures = _large(to_pictures(draw(factors)))
    tones = np.random.default_rng(5).uniform(-0.75, 0.25, len(faces))
    shown = np.stack([_toned(p, tone) for p, tone in zip(pictures, tones, strict=True)])
    names = [f"face-{k:03d}.png" for k in range(len(faces))]
    _keep(folder, names, shown)
    write_frame(folder / "units.csv", pd.DataFrame({"image": names[:50], "true_tone": tones[:50].round(3)}))
    head = _HEAD.format(folder=folder.name, title="Which skin tone do you see?", titel="Welchen Hautton sehen Sie?",
                        kind="skin-tone", raters=12, each=3, tasks=20, group="")  # fmt: skip
    knobs = 'scale = "fitzpatrick"               # or monk (ten steps), or two (lighter, darker)\nskip = true\n'
    pictures_lines = ", ".join(
        f'{{ image = "{names[k]}", caption = {{ en = "{en}", de = "{de}" }} }}'
        for k, en, de in ((int(np.argmax(tones[50:])) + 50, "Towards the light end", "Am hellen Ende"),
                          (int(np.argmin(tones[50:])) + 50, "Towards the dark end", "Am dunklen Ende"))
    )  # fmt: skip
    words = f"\n[instructions]                      # the kind's words, with pictures\npictures = [{pictures_lines}]\n"
    return head.replace("\n[units]", knobs + "\n[units]", 1) + words


def _toned(picture: Pictures, tone: float) -> Pictures:
    """Return a face whose skin is lighter or darker."""
    pixels = picture.astype(np.float64)
    y, x = np.mgrid[-1 : 1 : SHOWN * 1j, -1 : 1 : SHOWN * 1j]
    skin = 1 / (1 + np.exp((np.hypot(x / 0.56, (y - 0.08) / 0.72) - 1) * 24))[..., None]
    toned: Pictures = np.clip(pixels * (1 + tone * skin), 0, 255).astype(np.uint8)
    return toned


def _same_person(folder: Path) -> str:
    faces, pictures = _drawn(21, identities=40, each=2)
    names = [f"face-{k:03d}.png" for k in range(len(faces))]
    _keep(folder, names, pictures)
    people = np.arange(40)
    pairs = [(2 * p, 2 * p + 1) if p % 2 else (2 * p, 2 * ((p + 2) % 40) + 1) for p in people[:30]]
    frame = pd.DataFrame({"a": [names[a] for a, _ in pairs], "b": [names[b] for _, b in pairs],
                          "same": [int(a // 2 == b // 2) for a, b in pairs]})  # fmt: skip
    write_frame(folder / "units.csv", frame)
    items = "".join(
        f'\n[[training.item]]\na = "{names[2 * p]}"\nb = "{names[2 * (p if p % 2 else p + 1) + 1]}"\nanswer = {p % 2}\n'
        f'explanation = {{ en = "{en}", de = "{de}" }}\n'
        for p, en, de in (
            (33, "Brows, jaw and chin are the same.", "Brauen, Kiefer und Kinn sind gleich."),
            (34, "Brows and jaw differ.", "Brauen und Kiefer sind verschieden."),
            (37, "Only light and expression changed.", "Nur Licht und Ausdruck sind anders."),
        )
    )
    head = _HEAD.format(folder=folder.name, title="The same person?", titel="Derselbe Mensch?", kind="same-person",
                        raters=10, each=3, tasks=15, group="")  # fmt: skip
    return head + f'\n[training]\nqualify = 0.3\nfeedback = "all"\n{items}'
