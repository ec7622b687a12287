"""StageContext: what a stage works with: the folder, the plan, cached tables, progress, budget, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

from likewise.audit.folder.artifacts import (
    ALIGNED,
    BALANCE,
    COUNTERFACTUALS,
    DESCRIBED,
    EDITED_TRIALS,
    ESTIMATES,
    IMAGE_MATCHES,
    IMAGES,
    IMPOSTOR_MATCHES,
    LATENTS,
    MATCHES,
    PLACEBO,
    RATINGS,
    RESPONSES,
    TRIALS,
    VALIDITY,
    VARIANTS,
)
from likewise.audit.folder.store import Folder
from likewise.audit.folder.table_cache import TableCache
from likewise.audit.plan.model import Plan
from likewise.counterfactuals.validation.validity import valid_edits
from likewise.data.keys import file_of
from likewise.errors import LikewiseError
from likewise.runtime.cpu import tune
from likewise.runtime.executor import Result, Work
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.progress import Quiet, Reporter
from likewise.services.budget import Budget
from likewise.tables import Estimates, Images, Matches, Ratings, Trials, Vectors


class Licensed(Protocol):
    """A component with a name and a license."""

    name: str
    license: str


L = TypeVar("L", bound=Licensed)


@dataclass
class StageContext:
    """One stage at work."""

    folder: Folder
    plan: Plan
    reporter: Reporter = field(default_factory=Quiet)
    key: str = ""
    """The hash of everything that the artifact depends on."""
    planned: tuple[str, ...] = ()
    """The artifacts that the plan makes, in order."""
    budget: Budget = field(default_factory=Budget)
    """What paid services may cost."""
    tables: TableCache = field(default_factory=TableCache)
    """The tables of this run; a file is read and validated once."""
    licenses: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    raters: list[dict[str, str]] = field(default_factory=list)
    """The raters, with threshold and license: for the report."""

    def path(self, artifact: str) -> Path:
        """Return the path of an artifact."""
        return self.folder.path(artifact)

    def file(self, path: str) -> Path:
        """Return a file that the plan names; paths are relative to the plan."""
        return self.folder.root / path

    def replaced(self, artifact: str) -> AbstractContextManager[Path]:
        """Give an empty folder to fill; it replaces a folder artifact on success."""
        return self.folder.replaced(artifact)

    # Tables

    def images(self) -> Images:
        """The audited images, with described attributes where the plan has them."""
        return self.tables.read(Images, self.path(DESCRIBED if self.plan.describe else IMAGES))

    def source_images(self) -> Images:
        """The images as the stage read wrote them."""
        return self.tables.read(Images, self.path(IMAGES))

    def framed(self) -> tuple[Images, ImageFolder]:
        """The images in the generator's frame and their pictures: the aligned ones where there are any."""
        if self.plan.align is None:
            return self.images(), self.album(self.images())
        images = self.tables.read(Images, self.path(ALIGNED) / IMAGES)
        return images, ImageFolder(
            (self.path(ALIGNED) / "images").resolve(), {key: file_of(key) for key in images.keys}
        )

    def album(self, images: Images) -> ImageFolder:
        """The pictures of these images."""
        frame, root = images.frame, (self.folder.root / self.plan.data.images).resolve()
        return ImageFolder(root, dict(zip(frame["image"], frame["file"], strict=True)))

    def latents(self) -> Vectors:
        """The vectors of the images."""
        return self.tables.read(Vectors, self.path(LATENTS))

    def latents_or_none(self) -> Vectors | None:
        """The vectors of the images; None where the plan has no feature space."""
        return self.latents() if self.plan.has_space else None

    def vectors(self, path: Path) -> Vectors:
        """The vectors in a file or folder."""
        return self.tables.read(Vectors, path)

    def matches(self) -> Matches:
        """The matched pairs."""
        return self.tables.read(Matches, self.path(MATCHES))

    def image_matches(self) -> Matches:
        """The matched pairs of single images, for raters of images; those of the plan where it matches images."""
        return self.tables.read(Matches, self.path(IMAGE_MATCHES if self.plan.matches_trials else MATCHES))

    def impostor_matches(self) -> Matches | None:
        """The matched pairs of impostor trials; None where the plan has none."""
        path = self.path(IMPOSTOR_MATCHES)
        return self.tables.read(Matches, path) if IMPOSTOR_MATCHES in self.planned and path.is_file() else None

    def units(self) -> Trials | None:
        """The trials that are matched; None where images are."""
        return self.trials().genuine() if self.plan.matches_trials else None

    def variants(self) -> dict[str, Matches]:
        """The matched pairs of each variant that was feasible, by its name."""
        paths = {
            variant.name: self.path(VARIANTS) / f"{number:02d}.parquet"
            for number, variant in enumerate(self.plan.variant)
        }
        return {name: self.tables.read(Matches, path) for name, path in paths.items() if path.is_file()}

    def balance(self) -> Estimates:
        """The balance table."""
        return self.tables.read(Estimates, self.path(BALANCE))

    def trials(self) -> Trials:
        """The trials."""
        return self.tables.read(Trials, self.path(TRIALS))

    def ratings(self) -> Ratings:
        """The ratings of the models under audit."""
        return self.tables.read(Ratings, self.path(RATINGS))

    def responses(self) -> Ratings:
        """The responses of people."""
        return self.tables.read(Ratings, self.path(RESPONSES))

    def estimates(self) -> Estimates:
        """The estimates."""
        return self.tables.read(Estimates, self.path(ESTIMATES))

    def counterfactuals(self) -> tuple[Images, ImageFolder]:
        """The edited images and their pictures."""
        made = self.tables.read(Images, self.path(COUNTERFACTUALS) / IMAGES)
        return made, self.edited_album(made.keys)

    def valid_counterfactuals(self) -> Images:
        """The edited images whose edits are valid; none where the plan does not validate: then there is no finding."""
        made = self.counterfactuals()[0]
        if self.plan.validated is None:
            return made.subset([])
        return valid_edits(self.tables.read(Ratings, self.path(VALIDITY)), made)

    def placebo(self) -> Images | None:
        """The images of the placebo arms; None where the sweep has none."""
        path = self.path(COUNTERFACTUALS) / PLACEBO
        return self.tables.read(Images, path) if path.is_file() else None

    def edited_trials(self) -> Trials | None:
        """The trials of edited images; None where there are none."""
        path = self.path(COUNTERFACTUALS) / EDITED_TRIALS
        if self.plan.counterfactual is None or not path.is_file():
            return None
        return self.tables.read(Trials, path)

    def edited_album(self, keys: list[str]) -> ImageFolder:
        """The pictures of edited images."""
        return ImageFolder((self.path(COUNTERFACTUALS) / "images").resolve(), {key: file_of(key) for key in keys})

    def covariates(self) -> list[str]:
        """The plan's covariates; by default every attribute that is not about the contrast's own."""
        own = attribute_of(self.plan.contrast.column)
        return list(self.plan.covariates) or [name for name in self.images().attributes if attribute_of(name) != own]

    # Work

    def map_chunks(
        self,
        name: str,
        work: Work,
        items: list[str],
        *,
        chunk: int = 0,
        failures: Callable[[Result], int] | None = None,
    ) -> Iterator[Result]:
        """Do the work chunk by chunk, with progress; a stopped run resumes. ``chunk`` 0 is the plan's."""
        executor = replace(self.plan.executor, chunk=chunk or self.plan.executor.chunk)
        with self.reporter.task(name, len(items)) as progress:
            tune(executor)
            folder = self._chunks(name, executor.chunk)
            yield from executor.map(work, items, folder=folder, progress=progress, failures=failures)

    def reread_chunks(self, name: str, work: Work, items: list[str], *, chunk: int = 0) -> Iterator[Result]:
        """Read the finished chunks of ``map_chunks`` again."""
        executor = replace(self.plan.executor, chunk=chunk or self.plan.executor.chunk)
        yield from executor.map(work, items, folder=self._chunks(name, executor.chunk))

    def _chunks(self, name: str, chunk: int) -> Path:
        return self.folder.work(f"{self.key}-{name.replace('/', '-').replace(':', '-')}-{chunk}")

    def attempt(self, what: str, estimate: Callable[[], Estimates]) -> list[Estimates]:
        """Estimate, or note why this cannot be estimated; the other estimates stand."""
        try:
            return [estimate()]
        except LikewiseError as error:
            self.notes.append(f"No {what}: {error}")
            return []

    # Result

    def note_license(self, component: L) -> L:
        """Record a component's license, and that of its detector."""
        self.licenses[component.name] = component.license
        if isinstance(detector := getattr(component, "detector", None), str) and detector:
            self.note_detector(detector)
        return component

    def note_detector(self, name: str) -> None:
        """Record a detector's license; a recognizer may have the same name."""
        from likewise.models.detectors.registry import detector  # noqa: PLC0415  # networks load late

        self.licenses[f"detector {name}"] = detector(name).license

    def register_rater(self, kind: str, component: L) -> L:
        """Record a rater under audit: its threshold, where that comes from, and its license."""
        card = getattr(component, "card", None)
        entry = {
            "name": component.name,
            "kind": kind,
            "threshold": f"{getattr(component, 'threshold', float('nan')):g}".replace(
                "nan", "none (answers are averaged)"
            ),
            "license": component.license,
            "language": str(getattr(component, "language", "")),
            "family": str(getattr(component, "family", "")),
            "set_on": str(getattr(card, "set_on", "")),
        }
        if entry not in self.raters:
            self.raters.append(entry)
        return self.note_license(component)


def attribute_of(column: str) -> str:
    """Return what a column is about, whatever its source: perceived_gender and predicted_gender are about gender."""
    source, _, what = column.partition("_")
    return what if source in ("perceived", "predicted", "measured", "self") and what else column
