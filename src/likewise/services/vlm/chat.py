"""The component ``vlm``: a classifier that asks a vision-language model about images.

It uses the chat-completions format of OpenAI (``/v1/chat/completions`` with image input), which vLLM, Ollama, LiteLLM
and most gateways offer. Every answer is recorded with the model's own name and fingerprint, so that an audit can be
replayed.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import ServiceError, SpecError
from likewise.runtime.registry import Array, Pictures
from likewise.services.base import pixel_digest
from likewise.services.budget import Budget, CostEstimate
from likewise.services.cassette import Recorded
from likewise.services.connection import Post
from likewise.services.http import HttpService
from likewise.services.labels import LabelResponse
from likewise.services.vlm.parsing import Parsed, parse
from likewise.services.vlm.questions import Question, Variant, read_questions
from likewise.tables.io import replacing

_PATH = "/chat/completions"
_FORMATS = ("schema", "object", "none")
_POLICY = ("content_policy", "content_filter", "content management policy", "safety", "moderation")


@dataclass(frozen=True)
class Asked:
    """One request: one or two pictures and a variant of a question."""

    pictures: tuple[Pictures, ...]
    variant: Variant


@dataclass(kw_only=True)
class VisionLanguageModel(HttpService):
    """A vision-language model behind an OpenAI-compatible endpoint.

    Its labels are the questions (``yes_no``, ``number``), their options (``choice``) or their codes (``text``). Each
    question also yields the label ``NAME: refused``. A picture for which no variant has an answer is an empty rating.
    """

    threshold: float = float("nan")
    """NaN: answers are shares and numbers from 0 to 1 and are averaged as they are. With a number, an answer that
    reaches it counts as 1 and others as 0."""
    model: str
    """The model's name at the endpoint."""
    questions: tuple[Any, ...]
    """The questions: tables in the plan, or ``Question`` objects."""
    repeats: int = 1
    """How often each variant is asked; more than one makes sense with a temperature above 0."""
    temperature: float = 0.0
    response_format: str = "schema"
    """``schema``: a JSON schema is sent; ``object``: a JSON object is requested; ``none``: neither."""
    logprobs: bool = False
    """Whether to ask for log-probabilities; yes/no and pair answers are then probabilities."""
    max_tokens: int = 200
    seed: int | None = None
    """Sent with every request, increased by the number of the repeat."""
    system: str = ""
    """An optional system message."""
    detail: str = "auto"
    """The image detail that is requested."""
    language: str = field(init=False, default="en")
    """Labels are the names of the questions."""

    def __post_init__(self) -> None:
        self.name = f"vlm {self.model}"
        self.questions = read_questions(self.questions)
        self._check_options()
        averaged = math.isnan(self.threshold)
        self.threshold = 0.5 if averaged else self.threshold  # the base class checks a number
        super().__post_init__()
        self.threshold = math.nan if averaged else self.threshold
        self._variants = [variant for question in self.questions for variant in question.variants(repeats=self.repeats)]
        self._unparsed: list[dict[str, str]] = []
        self._asked_for: Counter[str] = Counter()
        self._refusals: Counter[str] = Counter()
        self._ledger: Path | None = None

    def _check_options(self) -> None:
        if self.response_format not in _FORMATS:
            raise SpecError(f"response_format is {self.response_format!r}", fix=f"Choose one of {', '.join(_FORMATS)}.")
        if not 1 <= self.repeats <= 100:
            raise SpecError(f"repeats must be between 1 and 100, not {self.repeats}")
        if self.repeats > 1 and self.temperature == 0 and self.seed is None:
            raise SpecError("repeats have no effect at temperature 0", fix="Set temperature above 0, or repeats = 1.")
        if not 0 <= self.temperature <= 2:
            raise SpecError(f"temperature must be between 0 and 2, not {self.temperature:g}")

    # ---- the request

    def _settings(self) -> dict[str, Any]:
        return {
            "model": self.model, "temperature": self.temperature, "max_tokens": self.max_tokens, "system": self.system,
            "response_format": self.response_format, "logprobs": self.logprobs, "seed": self.seed,
            "detail": self.detail,
        }  # fmt: skip

    def _key_headers(self, key: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {key}"}

    def _encoded(self, subject: Any) -> Any:
        """Return the body of the request; what the base class does with one picture is done here with one or two."""
        shown = subject.pictures[::-1] if subject.variant.swapped else subject.pictures
        return self._body(subject.variant, [super(VisionLanguageModel, self)._encoded(picture) for picture in shown])

    def _body(self, variant: Variant, images: Sequence[bytes]) -> dict[str, Any]:
        content: list[dict[str, Any]] = [{"type": "text", "text": variant.prompt}]
        for image in images:
            url = f"data:image/{self.encoding};base64,{base64.b64encode(image).decode()}"
            content.append({"type": "image_url", "image_url": {"url": url, "detail": self.detail}})
        messages: list[dict[str, Any]] = [{"role": "system", "content": self.system}] if self.system else []
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [*messages, {"role": "user", "content": content}],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
        }
        if self.seed is not None:
            body["seed"] = self.seed + variant.repeat
        if self.logprobs:
            body |= {"logprobs": True, "top_logprobs": 10}
        if self.response_format == "schema":
            schema = {"name": "answer", "strict": True, "schema": variant.schema()}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        elif self.response_format == "object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _post(self, image: Any) -> Post:
        return Post(self.endpoint + _PATH, {"Accept": "application/json"}, plain=image)

    def _refusal(self, status: int, answer: Any) -> str:
        """A content filter refuses with status 400 and says so; that is an answer."""
        said = json.dumps(answer).casefold() if answer is not None else ""
        if status in (400, 403, 451) and any(word in said for word in _POLICY):
            return "content filter"
        return super()._refusal(status, answer)

    # ---- the answer

    def _read(self, answer: Any) -> LabelResponse:
        """Return the model that answered; a message without choices is not in the published form."""
        answer["choices"][0]["message"]  # raises where the form is another
        fingerprint = answer.get("system_fingerprint")
        model = str(answer.get("model") or "")
        return LabelResponse({}, f"{model} {fingerprint}" if fingerprint else model)

    def _entry(self, request: str, picture: Any, answer: Any, model: str, refused: str) -> Recorded:
        kept = super()._entry(request, picture.pictures[0], answer, model, refused)
        kept.asked.update(picture.variant.asked(), pixels=[pixel_digest(shown) for shown in picture.pictures])
        return kept

    def request_of(self, asked: Asked) -> str:
        """Hash what is asked: the same pixels asked alike are one request."""
        pixels = [pixel_digest(picture) for picture in asked.pictures]
        shapes = [list(picture.shape) for picture in asked.pictures]
        plain = {**self._asked(), **asked.variant.asked(), "pixels": pixels, "shapes": shapes}
        return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()

    # ---- the ratings

    @property
    def calls_a_picture(self) -> int:
        """Requests for one picture: wordings x orders x repeats, over all questions about single images."""
        return len(self._single)

    @property
    def _single(self) -> list[Variant]:
        return [variant for variant in self._variants if variant.question.kind != "pair"]

    @property
    def _paired(self) -> list[Variant]:
        return [variant for variant in self._variants if variant.question.kind == "pair"]

    def open(self, folder: Path, budget: Budget) -> None:
        """Keep the answers in this folder, and pay from this budget."""
        super().open(folder, budget)
        if self._cassette.path is not None:
            self._ledger = self._cassette.path.with_suffix(".unparsed.csv")

    def erase(self, requests: set[str]) -> None:
        """Remove the recorded answers to these requests, and the messages that could not be parsed."""
        super().erase(requests)
        if self._ledger is None or not self._ledger.is_file():
            return
        with self._ledger.open(newline="", encoding="utf-8") as handle:
            rows = list(csv.DictReader(handle))
        kept = [row for row in rows if row.get("request") not in requests]
        with replacing(self._ledger) as temporary, temporary.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, fieldnames=list(rows[0]) if rows else [])
            writer.writeheader()
            writer.writerows(kept)

    @property
    def pair_questions(self) -> tuple[Question, ...]:
        """The questions about two images."""
        return tuple(question for question in self.questions if question.kind == "pair")

    @property
    def calls_a_pair(self) -> int:
        """Requests for one pair: wordings x orders x repeats, over all questions about two images."""
        return len(self._paired)

    def requests_of(self, picture: Pictures) -> list[str]:
        """Return the hash of every request about one picture."""
        return [self.request_of(Asked((picture,), variant)) for variant in self._single]

    def pair_requests(self, first: Pictures, second: Pictures, *, question: str) -> list[str]:
        """Return the hash of every request about one pair."""
        return [self.request_of(Asked((first, second), variant)) for variant in self._about(question)]

    def responses(self, pictures: Pictures) -> list[LabelResponse | None]:
        """Return the answers to all questions about single images, picture by picture; NaN where there is none."""
        found = self.score(pictures)
        return [
            LabelResponse({label: float(values[row]) for label, values in found.items()})
            for row in range(len(pictures))
        ]

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return each label's value ``[n]``; NaN where no variant of its question was answered."""
        answers = self._answers([Asked((picture,), variant) for picture in pictures for variant in self._single])
        return self._averaged(answers, self._single, len(pictures))

    def prefer(
        self, first: Sequence[Pictures] | Pictures, second: Sequence[Pictures] | Pictures, *, question: str = ""
    ) -> dict[str, Array]:
        """Return for each pair ``[n]`` how often the first image is chosen, over both orders of presentation.

        ``NAME: shown first`` is how often the image that was shown first is chosen, whichever it is: 0.5 without an
        order effect. With ``question`` only that one is asked.
        """
        variants = self._about(question)
        asked = [Asked((one, other), each) for one, other in zip(first, second, strict=True) for each in variants]
        answers = self._answers(asked)
        found = self._averaged(answers, variants, len(first))
        for each in {variant.question.name: variant.question for variant in variants}.values():
            rows = np.array([_places(entry, answer) for entry, answer in zip(asked, answers, strict=True)])
            mine = np.array([variant.question is each for variant in variants])
            own = rows.reshape(len(first), len(variants))[:, mine]
            found[each.shown_first] = np.array([_mean(row[~np.isnan(row)].tolist()) for row in own], np.float32)
        return found

    def _about(self, question: str) -> list[Variant]:
        return [variant for variant in self._paired if question in ("", variant.question.name)]

    def _answers(self, asked: list[Asked]) -> list[Parsed]:
        requests = [self.request_of(entry) for entry in asked]
        missing = {
            request: entry for request, entry in zip(requests, asked, strict=True) if self._recorded(request) is None
        }
        if missing and self.replay:
            fix = "Set replay = false to send them, or provide the complete recording."
            raise ServiceError(f"{len(missing)} requests to {self.name} have no recorded response", fix=fix)
        self._budget.approve([CostEstimate(self.name, self.where, len(missing), self.price)])
        known = self._models + self._versions_of(set(requests) - set(missing))
        self._fetch(missing, known)  # type: ignore[arg-type]  # requests with a question instead of bare pictures
        return [self._parsed(request, entry) for request, entry in zip(requests, asked, strict=True)]

    def _parsed(self, request: str, asked: Asked) -> Parsed:
        answer = self._recorded(request)
        assert answer is not None  # it was fetched
        self._dates.append(answer.date)
        name = asked.variant.question.name
        self._asked_for[name] += 1
        if answer.refused:
            self._refusals[name] += 1
            return Parsed({}, refused=True)
        self._models[answer.model] += 1
        self._check_models(self._models)
        found = parse(asked.variant, answer.answer["choices"][0])
        self._refusals[name] += found.refused
        if found.problem:
            text = str(answer.answer["choices"][0]["message"].get("content"))[:500]
            self._unparsed.append({"question": name, "request": request, "problem": found.problem, "message": text})
        return found

    def _averaged(self, answers: list[Parsed], variants: list[Variant], count: int) -> dict[str, Array]:
        """Average over variants within each picture; only answered variants count, refusals are their own label."""
        found: dict[str, Array] = {}
        for question in self.questions:
            own = [place for place, variant in enumerate(variants) if variant.question is question]
            if not own:
                continue
            rows = [[answers[row * len(variants) + place] for place in own] for row in range(count)]
            for label in question.labels:
                found[label] = np.array([_mean([entry.values[label] for entry in row if entry.values]) for row in rows])
            found[question.refused] = np.array([_mean([float(entry.refused) for entry in row]) for row in rows])
        self._write_ledger()
        return {label: values.astype(np.float32) for label, values in found.items()}

    def _write_ledger(self) -> None:
        """Write down the messages that could not be parsed."""
        if self._ledger is None or not self._unparsed:
            return
        self._ledger.parent.mkdir(parents=True, exist_ok=True)
        with self._ledger.open("w", newline="", encoding="utf-8") as handle:
            writer = csv.DictWriter(handle, fieldnames=list(self._unparsed[0]))
            writer.writeheader()
            writer.writerows(list({entry["request"]: entry for entry in self._unparsed}.values()))

    def remarks(self) -> list[str]:
        """Return which model answered, and how many requests were refused or could not be parsed."""
        lines = super().remarks()
        for name, total in self._asked_for.items():
            refused, lost = self._refusals[name], sum(entry["question"] == name for entry in self._unparsed)
            if refused or lost:
                lines.append(f"{self.name}, {name}: {refused:,} of {total:,} requests refused, {lost:,} not parsed")
        return lines


def _places(asked: Asked, answer: Parsed) -> float:
    """Return whether the image that was shown first was chosen; NaN without an answer."""
    if not answer.values:
        return float("nan")
    first = answer.values[asked.variant.question.name]
    return 1 - first if asked.variant.swapped else first


def _mean(values: list[float]) -> float:
    return float(np.mean(values)) if values else float("nan")
