"""``forget``: erase a person from an audit and from the files that its plan names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from likewise.services.budget import Budget
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
            person, sources_of(folder.root, plan, person),
            [*_artifacts(folder), *_mixed_recordings(folder, plan)], _count(folder, plan, requests),
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


def _mixed_recordings(folder: Folder, plan: Plan) -> list[Path]:
    """Return recordings that no request of a single image leads to: answers about pairs, and edited pictures.

    They are removed whole: a pair shows two people, and the requests of an editor depend on its prompts.
    """
    found = [service.recordings for service in services_of(folder, plan, Budget()).values() if has_pairs(service)]
    sweep = plan.counterfactual
    if sweep is not None and sweep.editor == "http":
        own = [folder.root / str(given) for given in [sweep.options.get("cassette")] if given]
        own += [path.with_name(f"{path.name}.jsonl") for path in folder.path("cassettes").glob("*/")]
        found += [path for cassette in own for path in (cassette, cassette.with_suffix(""))]
    return [path for path in dict.fromkeys(found) if path is not None and path.exists()]


def _requests(folder: Folder, plan: Plan, person: Person) -> dict[int, set[str]]:
    """Return the requests about the person's images and edits of them, by service."""
    services = services_of(folder, plan, Budget())
    if not services:
        return {}
    edited = folder.path(COUNTERFACTUALS) / "images"
    stems = {key.replace("/", "__") for key in person.images}
    drawn = [path for path in sorted(edited.glob("*.png")) if path.name.split("@")[0].split("~")[0] in stems]
    shown = [path for key in person.images if (path := find((folder.root / plan.data.images).resolve(), key))]
    pictures = []
    for path in [*shown, *drawn]:
        try:
            pictures.append(decode(path))
        except ImageError:  # never sent
            continue
    return {
        number: {each for picture in pictures for each in service.requests_of(picture)}
        for number, service in services.items()
    }


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
