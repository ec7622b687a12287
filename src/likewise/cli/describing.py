"""How the stage describe makes its artefact: Faces with what networks and pixels say about them."""

from __future__ import annotations

from likewise.cli.making import DESCRIBED, FACES, Job
from likewise.tables import Faces


def describing(job: Job) -> None:
    """Describe the faces, resumably; say who made each column, and where nothing could be said of whom."""
    from likewise.make.attributes import Describing, describer, put_together  # noqa: PLC0415  # networks load late

    spec = job.plan.describe
    assert spec is not None  # the stage is only planned with the section
    faces = Faces.read(job.path(FACES))
    describer(spec)  # a weight that is not there is said before any work is done
    parts = list(job.chunks("describe", Describing(spec, job.album(faces)), faces.images))
    made = put_together(faces, parts, spec)
    job.licences.update(made.licences)
    empty = made.faces.frame[list(spec.columns)].isna()
    job.summary = {"images": len(faces), "made by": dict(made.made_by), "empty": empty.sum().to_dict()}
    side = job.plan.contrast.side(faces).reindex(faces.images)
    if empty.any(axis=None):
        missing = empty.any(axis=1).to_numpy()
        shares = {job.plan.contrast.focal: missing[side == 1], job.plan.contrast.reference: missing[side == -1]}
        told = ", ".join(f"{name} {share.mean():.1%}" for name, share in shares.items() if len(share))
        job.notes.append(f"Of some faces something could not be said (no face found, or too little skin): {told}.")
    made.faces.write(job.path(DESCRIBED))
