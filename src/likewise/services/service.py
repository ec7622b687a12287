"""What all services have in common: hashing, the cassette, the purse, patience, and one model version an audit.

A service's occupant says only how one picture is asked about (``_ask``) and how an answer is read (``_read``).
A label is present where its confidence reaches the service's own threshold; a label that it does not name has
confidence 0; a picture that it refuses has no answer.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
from collections import Counter
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from likewise.errors import ImageError, LikewiseError, ServiceError, SpecError
from likewise.plugins import Array, Pictures
from likewise.services.cassette import Answer, Cassette
from likewise.services.purse import Bill, Purse
from likewise.services.reading import Reading, in_rows
from likewise.services.retry import Refused, Stopped, Transient, patiently
from likewise.services.secret import hush, scrubbed

ENCODINGS = {"png": {"format": "PNG"}, "jpeg": {"format": "JPEG", "quality": 95}}
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


@dataclass(kw_only=True)
class Service:
    """A classifier behind a service. Every option can stand in the plan; a key cannot."""

    threshold: float = 0.5
    """From which confidence a label counts as present: the service's own, unless you say otherwise."""
    price: float = 0.0
    """USD a picture; a list price as remembered in 2025, not looked up: check it before use, and say what you pay."""
    version: str = ""
    """The only model version that may answer; kept answers of another one are passed over."""
    mixed: bool = False
    """Whether answers of several model versions may stand side by side; the report then says so."""
    rename: dict[str, str] = field(default_factory=dict)
    """Other words for the service's labels, e.g. for those in another language."""
    encoding: str = "png"
    """How pictures are sent: png (exact) or jpeg (small)."""
    cassette: str = ""
    """The file of answers; cassettes/<name>.jsonl in the audit folder unless said otherwise."""
    replay: bool = False
    """Whether only kept answers count and nothing is ever sent."""
    concurrency: int = 4
    """How many pictures are asked about at once."""
    retries: int = 6
    """How often a request is tried again."""
    wait: float = 0.5
    """Seconds of the first pause; it doubles, with jitter, and the service's own wish goes first."""
    timeout: float = 30.0
    """Seconds until a call is given up."""

    name: str = field(init=False, default="service")
    language: str = field(init=False, default="")
    """In which language its labels are, by its request or by its own word; empty where nobody says so."""
    licence: str = field(init=False, default="a service; its own terms hold")
    largest: ClassVar[int] = 20_000_000
    """Bytes of a picture that the service takes at most."""

    def __post_init__(self) -> None:
        _check(self)
        hush()
        self.threshold = float(np.float32(self.threshold))  # scores are float32: 0.7 must not miss 0.7
        self._tape, self._purse = Cassette(), Purse()
        self._models: Counter[str] = Counter()
        self._dates: list[str] = []
        self._refused: Counter[str] = Counter()
        self._said: set[str] = set()
        self._counting = threading.Lock()

    # ---- what a service's own class says

    @property
    def where(self) -> str:
        """The host that the pictures go to."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """Return everything besides the pixels that the answer depends on; never a key."""
        raise NotImplementedError

    def _connected(self) -> AbstractContextManager[object]:
        """Open what the calls go through, and close it after them."""
        raise NotImplementedError

    def _ask(self, image: bytes) -> Any:
        """Ask about one picture; raises Transient, Refused or ServiceError."""
        raise NotImplementedError

    def _read(self, answer: Any) -> Reading:
        """Read an answer; raises KeyError, TypeError, ValueError or IndexError when it is not in its published form."""
        raise NotImplementedError

    def _secrets(self) -> list[str]:
        """Return what must never be seen."""
        return []

    # ---- what they share

    def open(self, folder: Path, purse: Purse) -> None:
        """Keep the answers in this folder, and pay from this purse."""
        self._tape = Cassette(folder / (self.cassette or f"cassettes/{self.name.replace('/', '-')}.jsonl"))
        self._purse = purse

    def request(self, picture: Pictures) -> str:
        """Hash what is asked about one picture ``[H, W, 3]``: the same pixels asked alike are one request."""
        pixels = hashlib.sha256(np.ascontiguousarray(picture).tobytes()).hexdigest()
        asked = {**self._asked(), "pixels": pixels, "shape": list(picture.shape)}
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    def bill(self, requests: list[str]) -> Bill:
        """Say what it costs to have all these answered; what is on the cassette is not asked again."""
        calls = 0 if self.replay else sum(self._kept(request) is None for request in set(requests))
        return Bill(self.name, self.where, calls, self.price)

    def look(self, pictures: Pictures) -> list[Reading | None]:
        """Return what is said of each picture, asking only where no answer is kept; None where it was refused."""
        requests = [self.request(picture) for picture in pictures]
        missing = {r: p for r, p in zip(requests, pictures, strict=True) if self._kept(r) is None}
        if missing and self.replay:
            fix = "Set replay = false to have the service asked, or bring the whole cassette."
            raise ServiceError(f"{self.name} is replayed", got=f"{len(missing)} pictures without an answer", fix=fix)
        self._purse.settle([Bill(self.name, self.where, len(missing), self.price)])
        self._fetch(missing, self._models + self._versions_of(set(requests) - set(missing)))
        return [self._heard(request) for request in requests]

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return each label's confidence; 0 where it was not named, NaN where the picture was refused."""
        return in_rows(self.look(pictures))

    def missing(self) -> str:
        """Say what it lacks to be asked: its key, as a rule; nothing where only kept answers count."""
        if self.replay:
            return ""
        try:
            self._secrets()
        except LikewiseError as error:
            return str(error)
        return ""

    def remarks(self) -> list[str]:
        """Say which model answered, when, and what it would not answer."""
        if not self._dates:
            return []
        models = ", ".join(f"{model or 'of no stated version'} ({n})" for model, n in sorted(self._models.items()))
        days = sorted({date[:10] for date in self._dates})
        lines = [f"{self.name}: answers of {days[0]} to {days[-1]} by model {models}"]
        if len(self._models) > 1:
            lines.append(f"{self.name}: several model versions are mixed; differences between them look like effects")
        lines += [f"{self.name}: {n} pictures refused: {reason}" for reason, n in self._refused.most_common(3)]
        never = sorted(set(self.rename) - self._said)
        return lines + ([f"{self.name}: rename names labels that were never given: {never}"] if never else [])

    def _asked(self) -> dict[str, Any]:
        return {"service": self.name, "where": self.where, "encoding": self.encoding, **self._settings()}

    def _kept(self, request: str) -> Answer | None:
        return self._tape.find(request, model=self.version)

    def _heard(self, request: str) -> Reading | None:
        """Return what a kept answer says, and note whose it is; None when the picture was refused."""
        answer = self._kept(request)
        assert answer is not None  # it was fetched
        self._dates.append(answer.date)
        if answer.refused:
            self._refused[answer.refused] += 1
            return None
        self._models[answer.model] += 1
        self._check_models(self._models)
        reading = self._read(answer.answer)
        self._said |= set(reading.labels)
        return reading.renamed(self.rename)

    def _versions_of(self, requests: set[str]) -> Counter[str]:
        kept = (self._kept(request) for request in requests)
        return Counter(answer.model for answer in kept if answer is not None and not answer.refused)

    def _check_models(self, counted: Counter[str]) -> None:
        if len(counted) > 1 and not self.mixed:
            shown = " and ".join(f"{model!r} ({n} pictures)" for model, n in counted.items())
            newest = list(counted)[-1]
            fix = (
                f"Set version = {newest!r} in the rater's options to have every picture answered by that one, "
                "or mixed = true to let them stand side by side, which the report then says."
            )
            raise ServiceError(f"one model version of {self.name} answers a whole audit", got=shown, fix=fix)

    def _fetch(self, missing: dict[str, Pictures], known: Counter[str]) -> None:
        """Ask about pictures, a few at a time; each answer is kept as it comes, whatever happens to the others.

        ``known`` counts the model versions that have answered, on the cassette or a moment ago.
        """
        if not missing:
            return
        stop = threading.Event()
        with self._connected(), ThreadPoolExecutor(self.concurrency) as pool:
            tasks = [pool.submit(self._one, request, picture, known, stop) for request, picture in missing.items()]
            try:
                wait(tasks, return_when=FIRST_EXCEPTION)
            finally:  # also on Ctrl-C: nothing new is begun
                if not all(task.done() for task in tasks):
                    stop.set()
                pool.shutdown(wait=True, cancel_futures=True)
        for task in tasks:
            if not task.cancelled():
                with suppress(Stopped):
                    task.result()

    def _one(self, request: str, picture: Pictures, known: Counter[str], stop: threading.Event) -> None:
        if stop.is_set():
            raise Stopped
        try:
            image = self._encoded(picture)
            answer, model, refused = patiently(
                lambda: self._try(image), name=self.name, retries=self.retries, wait=self.wait, stop=stop
            )
            self._tape.add(self._answer(request, picture, answer, model, refused))
            self._check_answering(model, refused, known)
        except BaseException:
            stop.set()  # here, before this thread takes up the next picture
            raise

    def _try(self, image: bytes) -> tuple[Any, str, str]:
        """Ask once: the answer, its model version, and why it was refused."""
        self._purse.pay(self.price)
        try:
            answer = self._ask(image)
            return answer, self._read(answer).model, ""
        except Refused as refusal:
            return refusal.answer, "", scrubbed(str(refusal), self._secrets())[:200]
        except Transient as later:
            if not later.charged:
                self._purse.refund(self.price)
            raise Transient(scrubbed(str(later), self._secrets()), wait=later.wait) from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            if isinstance(error, LikewiseError):
                raise
            raise Transient(f"an answer that is not in its published form ({type(error).__name__})") from None

    def _answer(self, request: str, picture: Pictures, answer: Any, model: str, refused: str) -> Answer:
        clean = json.loads(scrubbed(json.dumps(answer, ensure_ascii=False), self._secrets()))
        now = datetime.now(UTC).isoformat(timespec="seconds")
        asked = {**self._asked(), "shape": list(picture.shape), "language": self.language}
        return Answer(request=request, date=now, model=model, answer=clean, refused=refused, asked=asked)

    def _check_answering(self, model: str, refused: str, known: Counter[str]) -> None:
        """Stop at the first answer of another model version, before more are paid for."""
        if refused:
            return
        if self.version and model not in ("", self.version):
            fix = f"Set version = {model!r} in the rater's options, or leave it out."
            raise ServiceError(f"{self.name} answers with model {self.version!r}", got=repr(model), fix=fix)
        with self._counting:
            known[model] += 1
            self._check_models(known)

    def _encoded(self, picture: Pictures) -> bytes:
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, **ENCODINGS[self.encoding])  # type: ignore[arg-type]
        if buffer.tell() > self.largest:
            fix = "Set encoding = 'jpeg', or audit smaller pictures." if self.encoding == "png" else "Make it smaller."
            got = f"{buffer.tell():,} bytes as {self.encoding}"
            raise ImageError(f"{self.name} takes pictures of at most {self.largest:,} bytes", got=got, fix=fix)
        return buffer.getvalue()


def _check(service: Service) -> None:
    """Refuse options that mean nothing."""
    for option, ok, rule in (
        ("threshold", 0 < _number(service.threshold) <= 1, "lies above 0 and is at most 1"),
        ("price", 0 <= _number(service.price) < float("inf"), "is an amount of USD"),
        ("concurrency", service.concurrency in range(1, 65), "is a whole number from 1 to 64"),
        ("retries", service.retries in range(21), "is a whole number from 0 to 20"),
        ("wait", 0 < _number(service.wait) <= 60, "is up to 60 seconds"),
        ("timeout", 0 < _number(service.timeout) <= 600, "is up to 600 seconds"),
        ("encoding", service.encoding in ENCODINGS, "is 'png' or 'jpeg'"),
        ("replay", isinstance(service.replay, bool), "is true or false"),
        ("mixed", isinstance(service.mixed, bool) and not (service.mixed and service.version), "goes without version"),
        ("version", isinstance(service.version, str), "is text"),
        ("language", _is_language(service), "is a code, e.g. 'en' or 'pt-BR'"),
        ("cassette", isinstance(service.cassette, str), "is a file name"),
        ("rename", isinstance(service.rename, dict) and all(map(_is_text, service.rename.values())), "maps texts"),
    ):
        if not ok:
            raise SpecError(f"{service.name}: {option} {rule}", got=repr(getattr(service, option))[:80])


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")


def _is_language(service: Service) -> bool:
    """Say whether a language is one; where it can be chosen it has to be, or an account's settings would."""
    chosen = any(entry.name == "language" and entry.init for entry in fields(service))
    if service.language == "" and not chosen:
        return True
    return isinstance(service.language, str) and _LANGUAGE.fullmatch(service.language) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
