"""MLflow and Weights & Biases: an audit as a run with parameters, metrics, tables and the report."""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path
from typing import Any

from likewise import __version__
from likewise.audit.api import Audit
from likewise.audit.folder.artifacts import ESTIMATES, EXPORT, REPORT
from likewise.audit.folder.store import PLAN
from likewise.runtime.optional import require

_SHOWN = ("estimate", "low", "high")


def metrics_of(audit: Audit) -> dict[str, float]:
    """Return every estimate and the ends of its interval, by name: ``dlib/fnmr/matched/female/estimate``."""
    found: dict[str, float] = {}
    for row in audit.estimates.frame.to_dict("records"):
        name = "/".join(_word(row[key]) for key in ("quantity", "stat", "sample", "group") if str(row[key]))
        found |= {f"{name}/{end}": float(row[end]) for end in _SHOWN if math.isfinite(float(row[end]))}
    return found


def parameters_of(audit: Audit) -> dict[str, str]:
    """Return what the audit is: title, contrast, covariates, seed, version, and the hash of its plan."""
    plan = audit.plan
    digest = hashlib.sha256((audit.folder / PLAN).read_bytes()).hexdigest()
    return {
        "title": plan.report.title, "contrast": str(plan.contrast.label), "covariates": ", ".join(plan.covariates),
        "seed": str(plan.seed), "likewise": __version__, "plan_sha256": digest,
    }  # fmt: skip


def log_to_mlflow(audit: Audit | str | Path, *, experiment: str = "likewise", run_name: str | None = None) -> str:
    """Log an audit as a run of MLflow: at its tracking URI, or in its local store.

    Parameters
    ----------
    audit : Audit or path
        The audit, or its folder.
    experiment : str
        The experiment.
    run_name : str, optional
        The name of the run; by default the title of the report.

    Returns
    -------
    str
        The id of the run.
    """
    mlflow, made = require("mlflow", "mlflow"), _opened(audit)
    mlflow.set_experiment(experiment)
    with mlflow.start_run(run_name=run_name or made.plan.report.title) as run:
        mlflow.log_params(parameters_of(made))
        mlflow.log_metrics(metrics_of(made))
        for path in _files(made):
            mlflow.log_artifact(str(path)) if path.is_file() else mlflow.log_artifacts(str(path), path.name)
        return str(run.info.run_id)


def log_to_wandb(audit: Audit | str | Path, *, project: str = "likewise", **options: Any) -> str:
    """Log an audit as a run of Weights & Biases; ``mode="offline"`` writes to a local folder only.

    Parameters
    ----------
    audit : Audit or path
        The audit, or its folder.
    project : str
        The project.
    **options
        Of ``wandb.init``, e.g. ``mode``, ``dir``, ``name``.

    Returns
    -------
    str
        The folder of the run's files.
    """
    wandb, made = require("wandb", "wandb"), _opened(audit)
    run = wandb.init(project=project, config=parameters_of(made), **{"name": made.plan.report.title, **options})
    run.summary.update(metrics_of(made))
    artifact = wandb.Artifact("audit", type="audit")
    for path in _files(made):
        artifact.add_file(str(path)) if path.is_file() else artifact.add_dir(str(path), name=path.name)
    run.log_artifact(artifact)
    place = str(Path(run.dir).parent)
    run.finish()
    return place


def _opened(audit: Audit | str | Path) -> Audit:
    return audit if isinstance(audit, Audit) else Audit(audit)


def _files(audit: Audit) -> list[Path]:
    """Return the plan, the estimates, the export and the report; no image, latent or rating of a person."""
    return [path for name in (PLAN, ESTIMATES, EXPORT, REPORT) if (path := audit.folder / name).exists()]


def _word(value: object) -> str:
    return re.sub(r"[^\w. -]+", "-", str(value)).strip("- ")
