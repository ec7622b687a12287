"""Questions with their response options, and the kinds of study that are shipped."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from likewise.errors import PlanError, some
from likewise.study.config.texts import Text

MOST_OPTIONS = 10
"""Every option has a number key of its own: 1 to 9, then 0."""
SWATCHES = {
    "fitzpatrick": ("#f6d7c3", "#ecc0a0", "#d9a47c", "#b07a52", "#7c4f33", "#3d2720"),
    "monk": ("#f6ede4", "#f3e7db", "#f7ead0", "#eadaba", "#d7bd96", "#a07e56", "#825c43", "#604134", "#3a312a",
             "#292420"),
}  # fmt: skip
"""Colors beside the steps of a skin-tone scale: the published ones for Monk, approximate ones for Fitzpatrick."""


@dataclass(frozen=True)
class Option:
    """One response option: the recorded number, the label, and a color swatch if any."""

    value: float
    label: Text
    swatch: str = ""


@dataclass(frozen=True)
class Question:
    """A question; ``name`` is the question column of the Ratings."""

    name: str
    text: Text
    options: tuple[Option, ...]
    scale: str = "nominal"
    """Level of measurement for agreement statistics: ``nominal`` or ``ordinal``."""

    def __post_init__(self) -> None:
        values = [option.value for option in self.options]
        if not self.name or not self.name.replace("_", "").replace("-", "").isalnum():
            raise PlanError(f"Invalid question name {self.name[:80]!r}", fix="Use letters, digits, - and _.")
        if not 2 <= len(values) <= MOST_OPTIONS:
            raise PlanError(f"Question {self.name!r} has {len(values)} options", fix=f"Give 2 to {MOST_OPTIONS}.")
        if len(set(values)) < len(values):
            raise PlanError(
                f"Two options of question {self.name!r} have the same value ({some(values, 10)})",
                fix="Give each option a value of its own.",
            )
        if self.scale not in ("nominal", "ordinal"):
            raise PlanError(f"Unknown scale {self.scale!r}", fix="Choose 'nominal' or 'ordinal'.")

    @property
    def values(self) -> tuple[float, ...]:
        """The numbers that can be recorded."""
        return tuple(option.value for option in self.options)


@dataclass(frozen=True)
class Kind:
    """A shipped kind of study: its question, images per unit, default texts, and typical seconds per task."""

    question: Question
    pictures: int
    title: Text
    instructions: Text
    seconds: float
    scales: Mapping[str, Question] = field(default_factory=dict)


def _options(*labels: tuple[float, str, str], swatches: tuple[str, ...] = ()) -> tuple[Option, ...]:
    found = swatches or ("",) * len(labels)
    return tuple(Option(value, Text({"en": en, "de": de}), s) for (value, en, de), s in zip(labels, found, strict=True))


_FITZPATRICK = _options(
    (1, "I: very light", "I: sehr hell"), (2, "II: light", "II: hell"), (3, "III: light to medium", "III: eher hell"),
    (4, "IV: medium to dark", "IV: eher dunkel"), (5, "V: dark", "V: dunkel"), (6, "VI: very dark", "VI: sehr dunkel"),
    swatches=SWATCHES["fitzpatrick"],
)  # fmt: skip
_MONK = _options(*((k, f"Tone {k}", f"Ton {k}") for k in range(1, 11)), swatches=SWATCHES["monk"])
_TONE = Text({
    "en": "Which step of the scale is closest to the skin of this face?",
    "de": "Welche Stufe der Skala kommt der Haut in diesem Gesicht am nächsten?",
})  # fmt: skip

KINDS: dict[str, Kind] = {
    "real-or-fake": Kind(
        Question(
            "judged_real",
            Text({"en": "Is this a photograph of a real person?", "de": "Ist das ein Foto eines echten Menschen?"}),
            _options((1, "Real", "Echt"), (0, "Generated", "Künstlich")),
        ),
        1,
        Text({"en": "Real or generated?", "de": "Echt oder künstlich?"}),
        Text({
            "en": "You will see one face at a time. Say whether it is a photograph of a **real** person or a picture "
            "that was **generated** by a computer.\n\nLook for\n\n"
            "- blobs or smears that look like drops of water\n- a background that makes no sense\n"
            "- glasses or earrings that do not match left and right\n- a face that is oddly lopsided\n"
            "- hair that melts into skin or background\n- color that bleeds over edges\n- odd teeth",
            "de": "Sie sehen jeweils ein Gesicht. Sagen Sie, ob es das Foto eines **echten** Menschen ist oder ein "
            "Bild, das ein Computer **erzeugt** hat.\n\nAchten Sie auf\n\n"
            "- Flecken oder Schlieren, die wie Wassertropfen aussehen\n- einen Hintergrund ohne Sinn\n"
            "- Brillen oder Ohrringe, die links und rechts nicht zusammenpassen\n- ein seltsam schiefes Gesicht\n"
            "- Haare, die in Haut oder Hintergrund übergehen\n- Farbe, die über Kanten läuft\n- ungewöhnliche Zähne",
        }),
        6.0,
    ),
    "skin-tone": Kind(
        Question("skin_tone", _TONE, _FITZPATRICK, "ordinal"),
        1,
        Text({"en": "Which skin tone do you see?", "de": "Welchen Hautton sehen Sie?"}),
        Text({
            "en": "You will see one face at a time. Choose the step of the scale that is closest to the **skin** of "
            "the face.\n\n- Judge the skin, not hair, eyes or where you think the person comes from.\n"
            "- Look at cheeks and forehead, away from shadows and bright spots.\n"
            "- There is no right answer that you could miss: we ask how the face looks to you.",
            "de": "Sie sehen jeweils ein Gesicht. Wählen Sie die Stufe der Skala, die der **Haut** des Gesichts am "
            "nächsten kommt.\n\n- Beurteilen Sie die Haut, nicht Haare, Augen oder die vermutete Herkunft.\n"
            "- Schauen Sie auf Wangen und Stirn, nicht auf Schatten oder Glanzstellen.\n"
            "- Es gibt keine falsche Antwort: Wir fragen, wie das Gesicht auf Sie wirkt.",
        }),
        5.0,
        {
            "fitzpatrick": Question("skin_tone", _TONE, _FITZPATRICK, "ordinal"),
            "monk": Question("skin_tone", _TONE, _MONK, "ordinal"),
            "two": Question(
                "darker_skin",
                Text({"en": "Is the skin of this face lighter or darker?",
                      "de": "Ist die Haut in diesem Gesicht heller oder dunkler?"}),
                _options(
                    (0, "Lighter (I to III)", "Heller (I bis III)"), (1, "Darker (IV to VI)", "Dunkler (IV bis VI)")
                ),
            ),
        },
    ),
    "same-person": Kind(
        Question(
            "same",
            Text({"en": "Do both pictures show the same person?", "de": "Zeigen beide Bilder denselben Menschen?"}),
            _options((1, "Same person", "Derselbe Mensch"), (0, "Different people", "Verschiedene Menschen")),
        ),
        2,
        Text({"en": "The same person?", "de": "Derselbe Mensch?"}),
        Text({
            "en": "You will see two pictures side by side. Say whether they show the **same person**.\n\n"
            "- Compare what stays: eyes, nose, mouth, the shape of the face.\n"
            "- Hair, glasses, light and expression may change from one picture to the next.\n"
            "- Pictures can be enlarged.",
            "de": "Sie sehen zwei Bilder nebeneinander. Sagen Sie, ob sie **denselben Menschen** zeigen.\n\n"
            "- Vergleichen Sie, was bleibt: Augen, Nase, Mund, die Form des Gesichts.\n"
            "- Haare, Brille, Licht und Ausdruck können sich von Bild zu Bild ändern.\n"
            "- Bilder lassen sich vergrößern.",
        }),
        8.0,
    ),
}  # fmt: skip
