"""``forget``: erase a person from an audit and from the files that its plan names."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from likewise.audit.api import LOG
from likewise.audit.folder.artifacts import ALIGNED, COUNTERFACTUALS, EXCLUDED
from likewise.audit.folder.cached_work import content_cache
from likewise.audit.folder.store import PLAN, Folder
from likewise.audit.plan.model import Plan
from likewise.audit.privacy.ledger import Ledger
from likewise.audit.privacy.sources import Person, Source, mentions, person_of, remove, sources_of
from likewise.audit.raters.pair_questions import has_pairs
from likewise.audit.raters.planned import services_of
from likewise.audit.stages import STAGES, read_plan
from likewise.data.keys import file_of
from likewise.errors import ImageError, TableError, nearest
from likewise.runtime.content_cache import file_digest
from likewise.runtime.pixels import decode, find
from likewise.runtime.registry import Pictures
from likewise.services.base import pixel_digest
from likewise.services.budget import Budget
from likewise.services.edits.http_editor import erase_edits
from likewise.tables import Images

_DRAWN = ("shown", "report.pdf", "export.xlsx", LOG, EXCLUDED)
"""What is neither an artifact nor a source, and shows or names people."""


@dataclass(frozen=True)
class Erasure:
    """What an erasure would remove, or has removed."""

    person: Person
    sources: list[Source]
    artifacts: list[Path]
    responses: int
    """Recorded responses of services."""
    left: tuple[Path, ...] = ()
    """Files that still name the person."""

    @property
    def counts(self) -> dict[str, int]:
        """The counts of the ledger."""
        return {"images": len(self.person.images), "files": len(self.sources), "responses": self.responses}


def forget(root: str | Path, identity: str, *, agree: Callable[[Erasure], bool] | None = None) -> Erasure:
    """Erase a person from an audit folder and from the files that its plan names.

    Images, rows of tables, vectors, scores, labels, responses and recorded responses of the person are removed; all
    artifacts are removed, because each of them was made with the person. Run the audit again to estimate without.

    Parameters
    ----------
    root : str or Path
        The audit folder.
    identity : str
        The identity, as in the table.
    agree : callable, optional
        Gets what would be erased; nothing is erased unless it returns True.

    Returns
    -------
    Erasure
        What was erased; ``left`` has the files of the folder that still name the person.
    """
    folder = Folder(Path(root).absolute())
    with folder.locked():
        plan = read_plan(folder.path(PLAN))
        person = _found(folder, plan, identity)
        requests = _requests(folder, plan, person)
        found = Erasure(
            person, [*sources_of(folder.root, plan, person), *_recorded_edits(folder, plan, person)],
            _artifacts(folder), _count(folder, plan, requests),
        )  # fmt: skip
        if agree is not None and not agree(found):
            return Erasure(person, [], [], 0)
        Ledger.read(folder.root).enter(identity, folder.root, found.counts)  # first: a stopped erasure is on record
        _erase(folder, plan, found, requests)
        left = tuple(path for path in mentions(folder.root, person.images) if path.name != ".lock")
    return Erasure(person, found.sources, found.artifacts, found.responses, left)


def _found(folder: Folder, plan: Plan, identity: str) -> Person:
    """Find the person in the table; after a stopped erasure, in the artifacts that are left."""
    table = plan.data.source(folder.root).faces()
    person = person_of(table, identity)
    if not person.images and folder.path("images.parquet").is_file():
        person = person_of(Images.read(folder.path("images.parquet")), identity)
    if not person.images:
        known = table.identities.unique()
        fix = nearest(identity, map(str, known)) or f"The column is {plan.data.identity!r}."
        raise TableError(f"No image of the identity {identity!r} in {plan.data.table or plan.data.images}", fix=fix)
    return person


def _artifacts(folder: Folder) -> list[Path]:
    names = [name for stage in STAGES for name in (stage.artifact, f"{stage.artifact}.json")]
    every = [folder.path(name) for name in (*names, ".work", *_DRAWN)]
    return [path for path in dict.fromkeys(every) if path.exists()]


def _recorded_edits(folder: Folder, plan: Plan, person: Person) -> list[Source]:
    """Return the recordings of an editor with edits of the person's images."""
    sweep = plan.counterfactual
    if sweep is None or sweep.editor != "http":
        return []
    own = [folder.root / str(given) for given in [sweep.options.get("cassette")] if given]
    own += [path.with_name(f"{path.name}.jsonl") for path in folder.path("cassettes").glob("*/")]
    found = []
    for path in dict.fromkeys(own):
        count = erase_edits(path, person.has, dry=True) if path.is_file() else 0
        found.append(Source(path, count, partial(erase_edits, path, person.has)))
    return [source for source in found if source.count]


def _requests(folder: Folder, plan: Plan, person: Person) -> dict[int, set[str]]:
    """Return the requests about the person's images and edits of them, by service.

    A request about two images is found by their pixels. It is kept only if both are images, or edits, of others that
    are still there: what cannot be attributed is erased.
    """
    services = services_of(folder, plan, Budget())
    if not services:
        return {}
    pictures = list(_pictures(folder, plan, person.images))
    found = {
        number: {each for picture in pictures for each in service.requests_of(picture)}
        for number, service in services.items()
    }
    if any(map(has_pairs, services.values())):
        keys = [key for key in plan.data.source(folder.root).faces().frame["image"] if not person.has(key)]
        others = {pixel_digest(picture) for picture in _pictures(folder, plan, keys)}
        others -= {pixel_digest(picture) for picture in pictures}
        for number, service in services.items():
            found[number] |= service.unattributed(others) if has_pairs(service) else set()
    return found


def _pictures(folder: Folder, plan: Plan, keys: Sequence[str]) -> Iterator[Pictures]:
    """Yield these images, and the edits of them."""
    stems = {key.replace("/", "__") for key in keys}
    edited = sorted((folder.path(COUNTERFACTUALS) / "images").glob("*.png"))
    drawn = [path for path in edited if path.name.split("@")[0].split("~")[0] in stems]
    shown = [path for key in keys if (path := find((folder.root / plan.data.images).resolve(), key))]
    for path in [*shown, *drawn]:
        with contextlib.suppress(ImageError):  # never sent
            yield decode(path)


def _count(folder: Folder, plan: Plan, requests: dict[int, set[str]]) -> int:
    services = services_of(folder, plan, Budget())
    return sum(services[number].recorded(asked) for number, asked in requests.items())


def _digests(folder: Folder, plan: Plan, person: Person) -> list[str]:
    """Return the sha256 of the person's images, as they came and aligned: what the user's cache calls them."""
    aligned = folder.path(ALIGNED) / "images"
    paths = [aligned / file_of(key) for key in person.images]
    if plan.data.images:
        root = (folder.root / plan.data.images).resolve()
        paths += [path for key in person.images if (path := find(root, key))]
    return [file_digest(path) for path in paths if path.is_file()]


def _erase(folder: Folder, plan: Plan, found: Erasure, requests: dict[int, set[str]]) -> None:
    services = services_of(folder, plan, Budget())
    for number, asked in requests.items():
        services[number].erase(asked)
    content_cache().erase(_digests(folder, plan, found.person))
    for source in found.sources:
        source.erase()
    for path in found.artifacts:
        remove(path)
