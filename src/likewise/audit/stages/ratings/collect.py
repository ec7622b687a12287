"""collect: people's responses about the trials, or about single images."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import DESCRIBED, IMAGES, RESPONSES, TRIALS
from likewise.audit.folder.store import Folder
from likewise.audit.plan.model import Plan
from likewise.audit.raters.planned import PATHS, resolved
from likewise.audit.stage import ComponentUse, Stage
from likewise.errors import ImageError, TableError
from likewise.runtime.registry import Pictures, create


class Collect(Stage):
    """Collect the responses of people: from a file, or simulated."""

    name, artifact, section, seeded = "collect", RESPONSES, "collect", True
    help = "Collect the responses of people."

    def enabled(self, plan: Plan) -> bool:
        """Whether the plan has the section."""
        return plan.collect is not None

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images and the trials."""
        return (IMAGES if plan.describe is None else DESCRIBED, TRIALS)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the section."""
        return asdict(plan.collect) if plan.collect else {}

    def components(self, folder: Folder, plan: Plan) -> list[ComponentUse]:
        """Return the crowd."""
        given = plan.collect
        return [ComponentUse("crowd", given.crowd, resolved(folder, given.options))] if given else []

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the file of responses."""
        options = plan.collect.options if plan.collect else {}
        return tuple(str(options[key]) for key in PATHS if options.get(key))

    def run(self, context: StageContext) -> None:
        """Write the responses."""
        given = context.plan.collect
        assert given is not None  # enabled only with the section
        crowd = context.note_license(create("crowd", given.crowd, resolved(context.folder, given.options)))
        trials, images = context.trials().genuine(), context.images()
        album = context.album(images) if context.plan.data.images else None
        with context.reporter.task("collect", 2 * len(trials)) as progress:

            def look(keys: list[str]) -> Pictures:
                progress.advance(len(keys))
                if album is None:
                    raise ImageError(f"The crowd {given.crowd!r} needs images", fix="Add images to [data].")
                return album(keys)

            responses = crowd.answers(trials, look, context.plan.seed)
        responses.check_units([*context.trials().frame["trial"], *images.keys])  # people may rate impostor trials, too
        if not len(responses):
            fix = "Check the identity column, or the file of responses."
            raise TableError("No responses were collected for these trials", fix=fix)
        context.summary = {"responses": len(responses), "people": int(responses.frame["rater"].nunique())}
        responses.write(context.path(RESPONSES))
