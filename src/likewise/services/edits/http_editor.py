"""The editor component ``http``: an images-edit endpoint (``/v1/images/edits``) edits an attribute by instructions.

Every strength has an instruction. Answers are recorded: a line in the cassette, and the picture beside it. A picture
that the endpoint refuses (content filter) or returns in another shape is not edited, and is counted by reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from likewise.errors import SpecError
from likewise.runtime.registry import Pictures
from likewise.services.budget import Budget, CostEstimate
from likewise.services.cassette import Cassette, Recorded
from likewise.services.connection import Post
from likewise.services.edits.multipart import multipart
from likewise.services.http import HttpService
from likewise.services.images import decoded_image, filtered, image_bytes
from likewise.services.labels import LabelResponse

_PATH = "/images/edits"
_UNCHANGED = "Reproduce this photograph exactly as it is. Do not change anything."
_SHAPE = 0.02  # by how much an answer's aspect ratio may differ
FILTERED, RESHAPED = "refused by the content filter", "the endpoint returned another aspect ratio"
Strips = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Instruction:
    """One request: a picture and what to do with it."""

    picture: Pictures
    prompt: str
    image: str = ""
    """The key of the image; it is recorded, so that a person's edits can be erased."""


@dataclass(kw_only=True)
class HttpEditor(HttpService):
    """An editor behind an OpenAI-compatible images-edit endpoint.

    Examples
    --------
    >>> prompts = {"-1": "Make the person look like a man.", "0": "... androgynous.", "1": "... like a woman."}
    >>> editor = HttpEditor(endpoint="https://host.example/v1", attribute="perceived_gender", prompts=prompts)
    >>> editor.calls_a_picture
    4
    """

    attribute: str
    """What is edited: the contrast's column."""
    prompts: dict[str, str]
    """The instruction of each strength."""
    model: str = ""
    """The model's name at the endpoint; empty: the endpoint's own."""
    redraw_prompt: str = _UNCHANGED
    """The instruction of the reconstruction control."""
    placebo_prompts: dict[str, str] = field(default_factory=dict)
    """The instruction of each strength for the random-direction arm: something that is not the attribute. Without them
    that arm is a random change of pixels of the same size."""
    size: str = ""
    """The requested size, e.g. ``1024x1024``; empty: the endpoint's choice. Answers are scaled to the original."""
    form: dict[str, str] = field(default_factory=dict)
    """Further fields of the form, such as ``quality``."""
    focal: str = ""
    """The group that +1 looks like; by default the contrast's focal level."""
    timeout: float = 180.0

    mask = "person"
    """Where edits may show, unless the plan says otherwise: anywhere but in the background."""

    def __post_init__(self) -> None:
        self.name = f"edits {self.model or 'http'}"
        super().__post_init__()
        self._prompts, self._placebo = _by_strength("prompts", self.prompts), {}
        if len(self._prompts) < 2:
            raise SpecError("The editor 'http' has fewer than two prompts", fix='Add prompts = { "-1" = "...", ... }.')
        self.failures: dict[str, str] = {}
        self.random: Any = None
        if self.placebo_prompts:
            self._placebo, self.random = _by_strength("placebo_prompts", self.placebo_prompts), self._random
            if set(self._placebo) != set(self._prompts):
                raise SpecError("prompts and placebo_prompts have different strengths", fix="Give both the same ones.")
        self._folder: Path | None = None
        self._memory: dict[str, bytes] = {}

    # ---- the editor

    def edit(self, pictures: Pictures, level: float) -> Pictures:
        """Return pictures edited to one strength; a picture that is not edited comes back as it is."""
        strip: Pictures = self.sweep(pictures, (level,), [f"picture {row}" for row in range(len(pictures))])[:, 0]
        return strip

    def sweep(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str]) -> Strips:
        """Return the pictures at all strengths ``[n, K, H, W, 3]``; ``failures`` says which are not edited, and why."""
        return self._edited(pictures, [self._prompt(self._prompts, level) for level in levels], images)

    def redraw(self, pictures: Pictures, images: Sequence[str]) -> Pictures:
        """Return the pictures as the endpoint reproduces them."""
        drawn: Pictures = self._edited(pictures, [self.redraw_prompt], images)[:, 0]
        return drawn

    def _random(self, pictures: Pictures, levels: Sequence[float], images: Sequence[str], seed: int) -> Strips:
        return self._edited(pictures, [self._prompt(self._placebo, level) for level in levels], images)

    @property
    def calls_a_picture(self) -> int:
        """Requests for one picture: strengths, placebo strengths and the reconstruction."""
        return len(self._prompts) + len(self._placebo) + 1

    def check_strengths(self, strengths: Sequence[float]) -> None:
        """Raise where a strength of the plan has no instruction."""
        for strength in strengths:
            self._prompt(self._prompts, strength)

    def cost_of(self, images: int) -> CostEstimate:
        """Return what editing so many images costs at most; recorded answers cost nothing."""
        calls = 0 if self.replay else max(images * self.calls_a_picture - len(self._cassette), 0)
        return CostEstimate(self.name, self.where, calls, self.price, most=True)

    def _prompt(self, prompts: Mapping[float, str], strength: float) -> str:
        if strength not in prompts:
            known = ", ".join(f"{each:+g}" for each in sorted(prompts))
            fix = f"Add a prompt for it, or set strengths in [counterfactual]. Prompts: {known}."
            raise SpecError(f"The editor 'http' has no prompt for the strength {strength:+g}", fix=fix)
        return prompts[strength]

    def _edited(self, pictures: Pictures, prompts: Sequence[str], images: Sequence[str]) -> Strips:
        asked = [
            Instruction(picture, prompt, image)
            for picture, image in zip(pictures, images, strict=True)
            for prompt in prompts
        ]
        requests = [self._request_of(each) for each in asked]
        missing = {r: each for r, each in zip(requests, asked, strict=True) if self._recorded(r) is None}
        if missing and self.replay:
            self._not_recorded(len(missing))
        self._budget.approve([CostEstimate(self.name, self.where, len(missing), self.price)])
        known = self._models + self._versions_of(set(requests) - set(missing))
        self._fetch(missing, known)  # type: ignore[arg-type]  # instructions instead of bare pictures
        strips = [self._answer(request, each) for request, each in zip(requests, asked, strict=True)]
        for place, strip in enumerate(strips):
            if isinstance(strip, str):
                self.failures[images[place // len(prompts)]] = strip
        shown = [each.picture if isinstance(strip, str) else strip for strip, each in zip(strips, asked, strict=True)]
        return np.stack(shown).reshape(len(pictures), len(prompts), *pictures.shape[1:])

    def _answer(self, request: str, asked: Instruction) -> Pictures | str:
        """Return the edited picture at the size of the original, or why there is none."""
        entry = self._recorded(request)
        assert entry is not None  # it was fetched
        self._dates.append(entry.date)
        if entry.refused:
            self._refused[entry.refused] += 1
            return entry.refused
        self._models[entry.model] += 1
        self._check_models(self._models)
        picture, (height, width) = decoded_image(self._content(request)), asked.picture.shape[:2]
        if abs(picture.shape[1] / picture.shape[0] / (width / height) - 1) > _SHAPE:
            self._refused[RESHAPED] += 1
            return RESHAPED
        if picture.shape[:2] == (height, width):
            return picture
        return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.LANCZOS))

    # ---- the request

    def _settings(self) -> dict[str, Any]:
        return {"model": self.model, "size": self.size, "form": dict(sorted(self.form.items()))}

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def _encoded(self, subject: Any) -> Any:
        return (super()._encoded(subject.picture), subject.prompt)

    def _post(self, image: Any) -> Post:
        content, prompt = image
        fields = {"prompt": prompt, "n": "1", **self.form}
        fields |= ({"model": self.model} if self.model else {}) | ({"size": self.size} if self.size else {})
        kind, body = multipart(fields, file=content, name=f"image.{self.encoding}", media=f"image/{self.encoding}")
        return Post(self.endpoint + _PATH, {"Accept": "application/json", "Content-Type": kind}, content=body)

    def _refusal(self, status: int, answer: Any) -> str:
        return FILTERED if filtered(status, answer) else super()._refusal(status, answer)

    def _read(self, answer: Any) -> LabelResponse:
        """Return the model that answered; an answer without an image that decodes is not in the published form."""
        decoded_image(image_bytes(answer))
        return LabelResponse({}, str(answer.get("model") or self.model))

    def _request_of(self, asked: Instruction) -> str:
        plain = {**self._asked(), "prompt": asked.prompt, "pixels": self.request(asked.picture)}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    # ---- recorded answers: a line of JSON each, and the pictures beside it

    def open(self, folder: Path, budget: Budget) -> None:
        """Record answers in this folder, and pay from this budget."""
        super().open(folder, budget)
        assert self._cassette.path is not None
        self._folder = self._cassette.path.with_suffix("")

    def _entry(self, request: str, picture: Any, answer: Any, model: str, refused: str) -> Recorded:
        if refused:
            kept = super()._entry(request, picture.picture, answer, model, refused)
        else:
            content = image_bytes(answer)
            self._keep(request, content)
            plain = {"image": f"{request}.image", "sha256": hashlib.sha256(content).hexdigest()}
            kept = super()._entry(request, picture.picture, plain, model, refused)
        kept.asked.update(prompt=picture.prompt, image=picture.image)
        return kept

    def _keep(self, request: str, content: bytes) -> None:
        if self._folder is None:
            self._memory[request] = content
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        part = self._folder / f"{request}.part"
        part.write_bytes(content)
        part.replace(self._folder / f"{request}.image")

    def _content(self, request: str) -> bytes:
        return self._memory[request] if self._folder is None else (self._folder / f"{request}.image").read_bytes()

    def _recorded(self, request: str) -> Recorded | None:
        """Return a recorded answer; one whose picture is missing or damaged is requested again."""
        entry = super()._recorded(request)
        if entry is None or entry.refused:
            return entry
        try:
            return entry if hashlib.sha256(self._content(request)).hexdigest() == entry.answer["sha256"] else None
        except (OSError, KeyError, TypeError):
            return None


def erase_edits(cassette: Path, about: Callable[[str], bool], *, dry: bool = False) -> int:
    """Erase the recorded edits of some images, with their pictures; return how many answers that is.

    An answer that names no image, and a picture that no remaining answer names, are erased too.
    """
    recorded, pictures = Cassette(cassette), cassette.with_suffix("")
    gone = {entry.request for entry in recorded if not entry.asked.get("image") or about(entry.asked["image"])}
    count = recorded.count(gone)
    if not dry:
        recorded.remove(gone)
        kept = {f"{entry.request}.image" for entry in recorded}
        for path in pictures.glob("*") if pictures.is_dir() else ():
            if path.name not in kept:
                path.unlink()
    return count


def _by_strength(key: str, prompts: Mapping[str, str]) -> dict[float, str]:
    """Read the instructions by strength."""
    return dict(sorted(_entries(key, prompts)))


def _entries(key: str, prompts: Mapping[str, str]) -> Iterator[tuple[float, str]]:
    for strength, prompt in prompts.items():
        try:
            value = float(strength)
        except ValueError:
            fix = 'Write prompts = { "-1" = "...", "0" = "...", "1" = "..." }.'
            raise SpecError(f"{strength[:40]!r} in {key} is not a strength", fix=fix) from None
        if not isinstance(prompt, str) or not prompt.strip():
            raise SpecError(
                f"The strength {strength} in {key} has no text", fix="Write the instruction for this strength."
            )
        yield value, prompt.strip()
