"""From prompts to a report: draw or read images, count people, predict attributes, estimate, write."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd

from likewise import __version__
from likewise.errors import LikewiseError, SpecError, TableError, nearest, some
from likewise.generation.benchmark import BenchmarkTable, checked
from likewise.generation.draw import IMAGES, TABLE, Drawn, draw_images, read_responses
from likewise.generation.estimates import Benchmark, Estimation
from likewise.generation.page import write_page
from likewise.generation.predictions import PREDICTIONS, TONE, Predicting
from likewise.generation.prompts import Given, PromptFile, as_prompts
from likewise.generation.quality import FEATURES, quality_by_group
from likewise.generation.ready import ReadyImages
from likewise.generation.sources import EndpointSource, FunctionSource, ImageSource
from likewise.generation.spec import Generated, GenerateSpec
from likewise.runtime.progress import Quiet, Reporter
from likewise.services.budget import Budget
from likewise.services.images import Picture
from likewise.tables import Contrast, Images
from likewise.tables.io import read_frame, write_frame, write_text

FACTS, REPORT = "generate.json", "report.html"
"""What the folder says about itself, for ``study init --from`` and for later runs; and the page."""


def generate(
    prompts: Given | None = None,
    *,
    source: ImageSource | Callable[[str, int], Picture | None] | ReadyImages | Path | str,
    out: Path | str,
    seeds: int | None = None,
    budget: Budget | None = None,
    reporter: Reporter | None = None,
    **about: Any,
) -> Generated:
    """Draw images for prompts, or read images that are there, and estimate whom they show.

    Parameters
    ----------
    prompts
        A file (TOML or a table), a list of texts, a list of mappings with text, term, pair, variant, or a table. Not
        needed for images that are there already.
    source
        A function ``(prompt, seed) -> uint8 [H, W, 3]`` (None is a refusal), ``"module:function"``, the address of an
        images endpoint, a folder of images, or ``ReadyImages``.
    out
        The folder to write to; an interrupted run resumes there.
    seeds
        Images per prompt; by default that of the prompts, else 20.
    budget, reporter
        What may be paid, and where progress is reported.
    **about
        Fields of ``GenerateSpec``: attribute, share_of, by, benchmark, labels, real, ...

    Returns
    -------
    Generated
        Images, estimates, notes, and the path of the report.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> def draw(prompt, seed):
    ...     return np.full((8, 8, 3), seed, np.uint8)
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = {"image": ["000-a-doctor/00000.png", "000-a-doctor/00001.png"], "perceived_gender": ["female", "male"]}
    >>> pd.DataFrame(rows).to_csv(folder / "people.csv", index=False)
    >>> said = {"attribute": "perceived_gender", "attributes": folder / "people.csv"}
    >>> found = generate(["a doctor"], source=draw, out=folder / "drawn", seeds=2, **said)
    >>> found.estimates.where(stat="share").frame["estimate"].tolist()
    [0.5]
    """
    known = GenerateSpec.__dataclass_fields__
    unknown = [name for name in about if name not in known]
    if unknown:
        raise SpecError(f"Unknown option {unknown[0]!r} of generate", fix=nearest(unknown[0], known))
    given = None if prompts is None else as_prompts(prompts, seeds)
    return audit_generated(given, _source(source), Path(out), GenerateSpec(**about), budget=budget, reporter=reporter)


def _source(given: Any) -> ImageSource | ReadyImages:
    if isinstance(given, Path) or (isinstance(given, str) and Path(given).is_dir()):
        return ReadyImages(folder=Path(given))
    if isinstance(given, str) and given.startswith(("http://", "https://")):
        return EndpointSource(endpoint=given)
    if isinstance(given, str) or (callable(given) and not hasattr(given, "draw")):
        return FunctionSource(function=given)
    found: ImageSource | ReadyImages = given
    return found


def audit_generated(
    prompts: PromptFile | None,
    source: ImageSource | ReadyImages,
    folder: Path,
    spec: GenerateSpec | None = None,
    *,
    budget: Budget | None = None,
    reporter: Reporter | None = None,
) -> Generated:
    """Draw or read the images and estimate whom they show; see ``generate``.

    Writes ``images.csv``, ``estimates.parquet``, ``estimates.csv``, ``generate.json`` and ``report.html`` in the
    folder, and where images are drawn ``images/``, ``refusals.csv`` and ``responses.csv``.
    """
    return _Run(prompts, source, folder, spec or GenerateSpec(), budget, reporter or Quiet()).whole()


@dataclass
class _Run:
    prompts: PromptFile | None
    source: ImageSource | ReadyImages
    folder: Path
    spec: GenerateSpec
    budget: Budget | None
    reporter: Reporter

    def whole(self) -> Generated:
        """Do everything."""
        predicting = self._predicting()  # a wrong option fails before the first request
        benchmark = self._benchmark(self._asked_terms())
        self.folder.mkdir(parents=True, exist_ok=True)
        drawn, root = self._drawn()
        if benchmark is None:
            benchmark = self._benchmark(drawn.images.attribute("term").astype(str))
        images = self._described(drawn.images, root, predicting)
        images.write(self.folder / TABLE)
        work = Estimation(images, self.spec, benchmark)
        by = self._combined(images)
        for step in (work.shares, work.people, lambda: work.intersections(by), work.pairs, work.corrected):
            step()
        work.refusals(_requests(drawn))
        self._quality(work, images, root)
        work.notes += self._said(drawn)
        return self._written(work, root, benchmark, predicting)

    def _asked_terms(self) -> list[str]:
        return [] if self.prompts is None else [prompt.about for prompt in self.prompts.prompt]

    def _benchmark(self, terms: Any) -> Benchmark:
        given = self.spec.benchmark
        if given is None or not len(terms) or isinstance(given, str | Path):  # files are tables since the spec was made
            return None
        return given.read(terms) if isinstance(given, BenchmarkTable) else checked(given, terms)

    def _predicting(self) -> Predicting | None:
        """Return what networks have to predict; nothing if a table has the attribute."""
        ready = self.source if isinstance(self.source, ReadyImages) else None
        if self.spec.attributes is not None or (ready and ready.folder is None):
            return None
        own = ready.read(self.prompts).attributes if ready else []
        if self.spec.attribute in own:
            return None
        by = self.spec.by or (("predicted_gender", TONE) if self.spec.attribute == "predicted_gender" else ())
        wanted = (self.spec.attribute, *(name for name in by if name not in own))
        return Predicting(columns=tuple(dict.fromkeys(wanted)), detector=self.spec.detector)

    def _drawn(self) -> tuple[Drawn, Path]:
        """Return the images and the folder that their keys are paths in."""
        if isinstance(self.source, ReadyImages):
            none = pd.DataFrame(columns=["prompt", "term", "seed", "reason"])
            return Drawn(self.source.read(self.prompts), none), self.source.folder or self.folder
        if self.prompts is None:
            raise SpecError("There are no prompts to draw images for", fix="Give a file or a list of prompts.")
        with self.reporter.task("generate", len(self.prompts.jobs)) as progress:
            drawn = draw_images(self.prompts, self.source, self.folder, budget=self.budget, progress=progress)
        if not len(drawn.images):
            raise TableError(
                "No image was drawn: every request was refused",
                fix="Read the refusals in refusals.csv, and change the prompts.",
            )
        return drawn, self.folder / IMAGES

    def _described(self, images: Images, root: Path, predicting: Predicting | None) -> Images:
        if predicting is not None:
            with self.reporter.task("describe", len(images)) as progress:
                return predicting.run(images, root, self.folder / PREDICTIONS, progress)
        if self.spec.attributes is None:
            if self.spec.attribute not in images.attributes:
                columns = some(images.attributes, 8)
                raise TableError(f"Column {self.spec.attribute!r} not found in the table (columns: {columns})",
                                 fix=nearest(self.spec.attribute, images.attributes))  # fmt: skip
            return images
        return self._from_table(images, Path(self.spec.attributes))

    def _from_table(self, images: Images, path: Path) -> Images:
        frame, _ = read_frame(path, text=("image",))
        wanted = ["image", self.spec.attribute, *self.spec.by]
        if missing := [name for name in wanted if name not in frame.columns]:
            columns = some(frame.columns, 8)
            problem = f"Column {missing[0]!r} not found in {path.name} (columns: {columns})"
            raise TableError(problem, fix=nearest(missing[0], frame.columns))
        known = frame.drop_duplicates("image").set_index("image")
        known = known[known.index.isin(images.keys)]
        if known.empty:
            raise TableError(
                f"{path.name} names none of the {len(images)} images (it has {some(frame['image'])})",
                fix=f"Keys are paths below the image folder, e.g. {images.keys[0]!r}.",
            )
        for name in dict.fromkeys([*wanted[1:], *(["people"] if "people" in known.columns else [])]):
            images = images.with_attribute(name, known[name])
        return images

    def _combined(self, images: Images) -> tuple[str, ...]:
        by = self.spec.by or ("predicted_gender", TONE)
        return by if all(name in images.attributes for name in by) else ()

    def _quality(self, work: Estimation, images: Images, root: Path) -> None:
        real, attribute = self.spec.real, self.spec.attribute
        if real is None:
            return
        try:
            others = self._others(images)
            contrast = Contrast(attribute, self.spec.share_of, others)
            with self.reporter.task("quality", 0) as progress:
                keep = self.folder / FEATURES
                work.parts += quality_by_group(images, root, real, contrast, keep, progress, self.spec.level)
        except LikewiseError as error:
            work.notes.append(f"No quality by group: {error}")

    def _others(self, images: Images) -> str:
        seen = set(images.attribute(self.spec.attribute).dropna().astype(str)) | set(self.spec.known_levels)
        others = sorted(seen - {self.spec.share_of})
        if len(others) != 1:
            raise SpecError(f"Quality compares two groups, but {self.spec.attribute!r} has {some(sorted(seen))}",
                            fix="Choose an attribute with two levels.")  # fmt: skip
        return others[0]

    def _said(self, drawn: Drawn) -> list[str]:
        """Return notes on refusals, rewritten prompts and changed models."""
        notes = []
        if len(drawn.refused):
            by = ", ".join(f"{term} {count}" for term, count in drawn.refused["term"].value_counts().items())
            notes.append(f"{len(drawn.refused)} requests were refused, by term: {by}.")
        said = read_responses(self.folder)
        models = sorted(said["model"].dropna().unique())
        if len(models) > 1:
            notes.append(f"{len(models)} models answered ({some(models)}): their images are pooled.")
        rewritten = int(said["revised_prompt"].notna().sum())
        if rewritten:
            about = f"{rewritten} of {len(drawn.images)} prompts (responses.csv)"
            notes.append(f"The endpoint rewrote {about}: the images answer its wording, not the prompt's.")
        return notes

    def _written(self, work: Estimation, root: Path, benchmark: Benchmark, predicting: Predicting | None) -> Generated:
        images, estimates = work.images, work.together()
        estimates.write(self.folder / "estimates.parquet")
        write_frame(self.folder / "estimates.csv", estimates.frame, {})
        facts = self._facts(images, root, predicting)
        write_text(self.folder / FACTS, json.dumps(facts, indent=1) + "\n")
        path = write_page(self.folder / REPORT, images, estimates, self.spec, facts=facts, root=root,
                          benchmark=benchmark, notes=work.notes)  # fmt: skip
        return Generated(images, estimates, work.notes, path)

    def _facts(self, images: Images, root: Path, predicting: Predicting | None) -> dict[str, Any]:
        """Return what the folder says about itself."""
        pixels = not (isinstance(self.source, ReadyImages) and self.source.folder is None)
        place = Path(os.path.relpath(root.resolve(), self.folder.resolve())).as_posix() if pixels else ""
        seen = sorted(images.attribute(self.spec.attribute).dropna().astype(str).unique())
        models = sorted(read_responses(self.folder)["model"].dropna().unique())
        seeds = int(images.attribute("seed").nunique()) if "seed" in images.attributes else 0
        counts = {f"{name}s": int(images.attribute(name).nunique()) for name in ("prompt", "term")}
        return {
            "format": 1, "version": __version__, "date": datetime.now(UTC).date().isoformat(),
            "source": getattr(self.source, "name", "ready images"), "endpoint": getattr(self.source, "endpoint", ""),
            "models": models, "images": place, "attribute": self.spec.attribute, "share_of": self.spec.share_of,
            "levels": list(self.spec.known_levels or seen), **counts, "seeds": seeds, "drawn": len(images),
            "detector": predicting.detector if predicting else "",
            "licenses": predicting.licenses() if predicting else {},
        }  # fmt: skip


def _requests(drawn: Drawn) -> pd.DataFrame:
    """Return every request with whether it was refused."""
    columns = ["term", "prompt", "seed"]
    if not len(drawn.refused):
        return pd.DataFrame(columns=[*columns, "hit"])
    made = drawn.images.frame[columns].assign(hit=0.0)
    return pd.concat([made, drawn.refused[columns].assign(hit=1.0)], ignore_index=True)
