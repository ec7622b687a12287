"""match-impostors: matched pairs of impostor trials, for the false match rate, where the plan matches trials."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pandas as pd

from likewise.audit.context import StageContext
from likewise.audit.folder.artifacts import (
    DESCRIBED,
    EMBEDDINGS,
    FIDELITY,
    IMAGES,
    IMPOSTOR_MATCHES,
    LATENTS,
    TRIALS,
)
from likewise.audit.matching import (
    features_of,
    impostors_within,
    matched,
    matching_files,
    matching_options,
    number_of_focal,
)
from likewise.audit.plan.model import Plan
from likewise.audit.stage import Stage
from likewise.design.balance.table import balance, verdict
from likewise.errors import LikewiseError
from likewise.tables import Matches, MatchSpec
from likewise.tables.matching.matches import ENDS


class MatchImpostors(Stage):
    """Match impostor trials of two people of one group, so that false match rates compare like with like."""

    name, artifact, section, version, seeded = "match-impostors", IMPOSTOR_MATCHES, "match", 2, True
    help = "Match impostor trials for false match rates, where trials are matched."

    def enabled(self, plan: Plan) -> bool:
        """Whether trials are matched and recognizers are asked about impostors."""
        scores = any(entry.scores for entry in plan.precomputed)
        return plan.matches_trials and plan.recognizes and (plan.trials.impostors > 0 or scores)

    def needs(self, plan: Plan) -> tuple[str, ...]:
        """Return the images, the trials and everything that distances are computed from."""
        return (IMAGES if plan.describe is None else DESCRIBED, LATENTS, EMBEDDINGS, FIDELITY, TRIALS)

    def options(self, plan: Plan) -> dict[str, Any]:
        """Return the design."""
        return {"match": plan.match.to_dict(), "contrast": asdict(plan.contrast), **matching_options(plan)}

    def files(self, plan: Plan) -> tuple[str, ...]:
        """Return the files of vectors, distances and scores."""
        return matching_files(plan)

    def run(self, context: StageContext) -> None:
        """Write the matched pairs; none, with a note that says why, where no sample is balanced."""
        spec = impostor_spec(context.plan.match)
        with context.reporter.task("match-impostors", number_of_focal(context)) as progress:
            try:
                found = _judged(context, matched(context, spec, progress, kind="impostors"))
            except LikewiseError as error:  # the matched genuine trials stand
                nothing = pd.DataFrame({name: pd.Series(dtype="str") for name in ("pair", "a", "b", *ENDS)})
                found = Matches(nothing, spec=spec, note=f"No impostor trials are matched: {error}", unit="trial")
        if not len(found):
            context.notes.append(f"No matched false match rate. {found.note.rstrip('.')}.")
        context.summary = {"pairs": len(found), **({"note": found.note} if found.note else {})}
        found.write(context.path(IMPOSTOR_MATCHES))


def _judged(context: StageContext, found: Matches) -> Matches:
    """Add the verdict on the balance of the matched trials to their note; first, where they are not balanced."""
    if len(found) < 2:
        return found
    table = balance(
        context.images(), context.plan.contrast, found, covariates=context.covariates(),
        units=impostors_within(context), vectors=features_of(context),
    )  # fmt: skip
    reached = verdict(table)
    parts = (found.note, reached.sentence) if reached.balanced else (reached.sentence, found.note)
    return found.with_note(". ".join(part.rstrip(".") for part in parts if part))


def impostor_spec(spec: MatchSpec) -> MatchSpec:
    """Return the plan's design for impostor trials.

    A person is in many of them, and each identity once would leave a quarter of the identities as trials, too few for
    a false match rate. So a balanced sample takes each *trial* once. Closest pairs keep each identity once.
    """
    if spec.method == "cardinality":
        return replace(spec, preset="", antiexact=(), max_pairs=None)
    return replace(spec, preset="", method="nearest", max_pairs=None)
