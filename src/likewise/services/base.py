"""What all services share: hashing, recorded responses, budget, retries, and one model version an audit.

A service's component defines only how one picture is sent (``_ask``) and how a response is read (``_read``). A label is
present where its confidence reaches the service's threshold; a label that the response lacks has confidence 0; a
picture that the service refuses has no rating.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import threading
from collections import Counter
from collections.abc import Collection
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from likewise.errors import ImageError, LikewiseError, ServiceError, SpecError
from likewise.runtime.registry import Array, Pictures
from likewise.services.budget import Budget, CostEstimate
from likewise.services.cassette import Cassette, Recorded
from likewise.services.labels import LabelResponse, scores_by_label
from likewise.services.retry import Refused, Stopped, Transient, call_with_retry
from likewise.services.secret import quiet_loggers, scrubbed, scrubbed_values

ENCODINGS = {"png": {"format": "PNG"}, "jpeg": {"format": "JPEG", "quality": 95}}
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")


def pixel_digest(picture: Pictures) -> str:
    """Return the sha256 of a picture's pixels."""
    return hashlib.sha256(np.ascontiguousarray(picture).tobytes()).hexdigest()


@dataclass(kw_only=True)
class Service:
    """A classifier behind a service. Every option can be in the plan; a key cannot."""

    threshold: float = 0.5
    """Confidence from which a label is present: the vendor's default unless given."""
    price: float = 0.0
    """USD a picture; a list price as remembered in 2025: check it before use, and set what you pay."""
    version: str = ""
    """The only model version that may answer; recorded responses of another version are skipped."""
    mixed: bool = False
    """Whether responses of several model versions may be used together; the report then says so."""
    rename: dict[str, str] = field(default_factory=dict)
    """Other names for the service's labels, e.g. for those in another language."""
    encoding: str = "png"
    """How pictures are sent: png (lossless) or jpeg (small)."""
    cassette: str = ""
    """The file of recorded responses; by default cassettes/<name>.jsonl in the audit folder."""
    replay: bool = False
    """Whether only recorded responses are used and nothing is ever sent."""
    concurrency: int = 4
    """Pictures that are sent at once."""
    retries: int = 6
    """How often a request is tried again."""
    wait: float = 0.5
    """Seconds of the first pause; it doubles, with jitter. A pause that the service asks for has priority."""
    timeout: float = 30.0
    """Seconds for a whole call, from connecting to the last byte of the response."""

    name: str = field(init=False, default="service")
    language: str = field(init=False, default="")
    """Language of the labels, as requested or stated; empty where it is not known."""
    license: str = field(init=False, default="a service; its own terms apply")
    largest: ClassVar[int] = 20_000_000
    """Bytes of a picture that the service accepts at most."""

    def __post_init__(self) -> None:
        _check(self)
        quiet_loggers()
        self.threshold = float(np.float32(self.threshold))  # scores are float32: 0.7 must not miss 0.7
        self._cassette, self._budget = Cassette(), Budget()
        self._models: Counter[str] = Counter()
        self._dates: list[str] = []
        self._refused: Counter[str] = Counter()
        self._seen_labels: set[str] = set()
        self._counting = threading.Lock()

    # ---- what a service's own class defines

    @property
    def where(self) -> str:
        """The host that the pictures are sent to."""
        raise NotImplementedError

    def _settings(self) -> dict[str, Any]:
        """Return everything besides the pixels that the response depends on; never a key."""
        raise NotImplementedError

    def _connected(self) -> AbstractContextManager[object]:
        """Open what the calls go through, and close it after them."""
        raise NotImplementedError

    def _ask(self, image: bytes) -> Any:
        """Send one picture and return the response; raises Transient, Refused or ServiceError."""
        raise NotImplementedError

    def _read(self, answer: Any) -> LabelResponse:
        """Read a response; raises KeyError, TypeError, ValueError or IndexError when its form is not the published."""
        raise NotImplementedError

    def _secrets(self) -> list[str]:
        """Return what must never be shown."""
        return []

    # ---- what they share

    def open(self, folder: Path, budget: Budget) -> None:
        """Record responses in this folder, and pay from this budget."""
        self._cassette = Cassette(folder / (self.cassette or f"cassettes/{self.name.replace('/', '-')}.jsonl"))
        self._budget = budget

    def request(self, picture: Pictures) -> str:
        """Hash the request for one picture ``[H, W, 3]``: the same pixels with the same settings are one request."""
        asked = {**self._asked(), "pixels": pixel_digest(picture), "shape": list(picture.shape)}
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()

    @property
    def recordings(self) -> Path | None:
        """The file of recorded responses."""
        return self._cassette.path

    def recorded(self, requests: set[str]) -> int:
        """Count the recorded responses to these requests."""
        return self._cassette.count(requests)

    def erase(self, requests: set[str]) -> None:
        """Remove the recorded responses to these requests from memory and disk."""
        self._cassette.remove(requests)

    def unattributed(self, pixels: Collection[str]) -> set[str]:
        """Return the requests that are recorded and not known to be about these pictures alone (their digests)."""
        known = set(pixels)
        return {entry.request for entry in self._cassette if not set(entry.asked.get("pixels") or [""]) <= known}

    @property
    def calls_a_picture(self) -> int:
        """Requests that one picture takes."""
        return 1

    def requests_of(self, picture: Pictures) -> list[str]:
        """Return the hash of every request that one picture takes."""
        return [self.request(picture)]

    def cost_estimate(self, requests: list[str]) -> CostEstimate:
        """Return the cost of these requests; recorded responses are not requested again."""
        calls = 0 if self.replay else sum(self._recorded(request) is None for request in set(requests))
        return CostEstimate(self.name, self.where, calls, self.price)

    def responses(self, pictures: Pictures) -> list[LabelResponse | None]:
        """Return the response for each picture, sending only those without a recorded one; None where refused."""
        requests = [self.request(picture) for picture in pictures]
        missing = {r: p for r, p in zip(requests, pictures, strict=True) if self._recorded(r) is None}
        if missing and self.replay:
            self._not_recorded(len(missing))
        self._budget.approve([CostEstimate(self.name, self.where, len(missing), self.price)])
        self._fetch(missing, self._models + self._versions_of(set(requests) - set(missing)))
        return [self._response(request) for request in requests]

    def score(self, pictures: Pictures) -> dict[str, Array]:
        """Return the confidence of each label; 0 where a response lacks it, NaN where the picture was refused."""
        return scores_by_label(self.responses(pictures))

    def missing(self) -> str:
        """Return what is missing for a request: the key, as a rule; nothing when only recorded responses are used."""
        if self.replay:
            return ""
        try:
            self._secrets()
        except LikewiseError as error:
            return str(error)
        return ""

    def remarks(self) -> list[str]:
        """Return which model answered, when, and what it refused."""
        if not self._dates:
            return []
        models = ", ".join(f"{model or 'of no stated version'} ({n})" for model, n in sorted(self._models.items()))
        days = sorted({date[:10] for date in self._dates})
        lines = [f"{self.name}: responses of {days[0]} to {days[-1]} by model {models}"]
        if len(self._models) > 1:
            lines.append(f"{self.name}: several model versions are mixed; differences between them look like effects")
        lines += [f"{self.name}: {n} pictures refused: {reason}" for reason, n in self._refused.most_common(3)]
        never = sorted(set(self.rename) - self._seen_labels)
        return lines + ([f"{self.name}: rename lists labels that no response has: {never}"] if never else [])

    def _not_recorded(self, count: int) -> None:
        fix = "Set replay = false to send them, or add the complete file of recorded responses."
        raise ServiceError(f"{self.name} has no recorded response for {count} pictures", fix=fix)

    def _asked(self) -> dict[str, Any]:
        return {"service": self.name, "where": self.where, "encoding": self.encoding, **self._settings()}

    def _recorded(self, request: str) -> Recorded | None:
        return self._cassette.find(request, model=self.version)

    def _response(self, request: str) -> LabelResponse | None:
        """Return a recorded response, and count its model; None when the picture was refused."""
        entry = self._recorded(request)
        assert entry is not None  # it was fetched
        self._dates.append(entry.date)
        if entry.refused:
            self._refused[entry.refused] += 1
            return None
        self._models[entry.model] += 1
        self._check_models(self._models)
        response = self._read(entry.answer)
        self._seen_labels |= set(response.labels)
        return response.renamed(self.rename)

    def _versions_of(self, requests: set[str]) -> Counter[str]:
        kept = (self._recorded(request) for request in requests)
        return Counter(entry.model for entry in kept if entry is not None and not entry.refused)

    def _check_models(self, counted: Counter[str]) -> None:
        if len(counted) > 1 and not self.mixed:
            shown = " and ".join(f"{model!r} ({n} pictures)" for model, n in counted.items())
            newest = list(counted)[-1]
            fix = (
                f"Set version = {newest!r} in the rater's options to have every picture rated by that version, "
                "or mixed = true to use them together, which the report then says."
            )
            raise ServiceError(f"Several model versions of {self.name} answered: {shown}", fix=fix)

    def _fetch(self, missing: dict[str, Pictures], known: Counter[str]) -> None:
        """Send pictures, a few at a time; each response is recorded as it arrives, whatever happens to the others.

        ``known`` counts the model versions that have answered so far.
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
            answer, model, refused = call_with_retry(
                lambda: self._try(image), name=self.name, retries=self.retries, wait=self.wait, stop=stop
            )
            self._cassette.add(self._entry(request, picture, answer, model, refused))
            self._check_answering(model, refused, known)
        except BaseException:
            stop.set()  # here, before this thread takes up the next picture
            raise

    def _try(self, image: bytes) -> tuple[Any, str, str]:
        """Send once: the response, its model version, and why it was refused."""
        self._budget.pay(self.price)
        try:
            answer = self._ask(image)
            return answer, self._read(answer).model, ""
        except Refused as refusal:
            return refusal.answer, "", scrubbed(str(refusal), self._secrets())[:200]
        except Transient as later:
            if not later.charged:
                self._budget.refund(self.price)
            raise Transient(scrubbed(str(later), self._secrets()), wait=later.wait) from None
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            if isinstance(error, LikewiseError):
                raise
            raise Transient(f"the response is not in its published form ({type(error).__name__})") from None

    def _entry(self, request: str, picture: Pictures, answer: Any, model: str, refused: str) -> Recorded:
        secrets = self._secrets()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        asked = {**self._asked(), "shape": list(picture.shape), "language": self.language,
                 "pixels": [pixel_digest(picture)]}  # fmt: skip
        return Recorded(
            request=request, date=now, model=scrubbed(model, secrets), answer=scrubbed_values(answer, secrets),
            refused=refused, asked=asked,
        )  # fmt: skip

    def _check_answering(self, model: str, refused: str, known: Counter[str]) -> None:
        """Stop at the first response of another model version, before more are paid for."""
        if refused:
            return
        if self.version and model not in ("", self.version):
            fix = f"Set version = {model!r} in the rater's options, or leave it out."
            raise ServiceError(f"{self.name} answered with model {model!r}, not {self.version!r}", fix=fix)
        with self._counting:
            known[model] += 1
            self._check_models(known)

    def _encoded(self, picture: Pictures) -> bytes:
        buffer = io.BytesIO()
        Image.fromarray(picture).save(buffer, **ENCODINGS[self.encoding])  # type: ignore[arg-type]
        if buffer.tell() > self.largest:
            fix = "Set encoding = 'jpeg', or use smaller pictures." if self.encoding == "png" else "Make it smaller."
            size = f"{buffer.tell():,} bytes as {self.encoding}"
            raise ImageError(f"A picture of {size} exceeds the {self.largest:,} that {self.name} accepts", fix=fix)
        return buffer.getvalue()


def _check(service: Service) -> None:
    """Check the options."""
    for option, ok, wanted in (
        ("threshold", 0 < _number(service.threshold) <= 1, "a number above 0 and up to 1"),
        ("price", 0 <= _number(service.price) < float("inf"), "an amount of USD"),
        ("concurrency", service.concurrency in range(1, 65), "a whole number from 1 to 64"),
        ("retries", service.retries in range(21), "a whole number from 0 to 20"),
        ("wait", 0 < _number(service.wait) <= 60, "up to 60 seconds"),
        ("timeout", 0 < _number(service.timeout) <= 600, "up to 600 seconds"),
        ("encoding", service.encoding in ENCODINGS, "'png' or 'jpeg'"),
        ("replay", isinstance(service.replay, bool), "true or false"),
        ("mixed", isinstance(service.mixed, bool), "true or false"),
        ("version", isinstance(service.version, str), "text"),
        ("language", _is_language(service), "a language code, e.g. 'en' or 'pt-BR'"),
        ("cassette", isinstance(service.cassette, str), "a file name"),
        ("rename", isinstance(service.rename, dict) and all(map(_is_text, service.rename.values())), "texts by label"),
    ):
        if not ok:
            raise SpecError(f"{service.name}: {option} is {getattr(service, option)!r:.80}", fix=f"Give {wanted}.")
    if service.mixed and service.version:
        raise SpecError(f"{service.name}: mixed and version contradict each other", fix="Leave one of them out.")


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")


def _is_language(service: Service) -> bool:
    """Return whether a language is valid; where it can be chosen it must be, or an account's settings would decide."""
    chosen = any(entry.name == "language" and entry.init for entry in fields(service))
    if service.language == "" and not chosen:
        return True
    return isinstance(service.language, str) and _LANGUAGE.fullmatch(service.language) is not None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())
