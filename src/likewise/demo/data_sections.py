"""The beginning of the plans of both demos: format, seed, covariates, data and contrast."""

from __future__ import annotations

from collections.abc import Iterable

from likewise.audit.plan.migrations import FORMAT
from likewise.tables import Contrast

_DATA = """\
format = {format}
seed = {seed}
covariates = [{covariates}]

[data]
images = "images"
table = "faces.csv"

[contrast]
column = "{contrast.column}"
focal = "{contrast.focal}"
reference = "{contrast.reference}"
"""


def data_sections(seed: int, covariates: Iterable[str], contrast: Contrast) -> str:
    """Return the sections as TOML.

    >>> print(data_sections(1, ["light"], Contrast("sex", "F", "M")).splitlines()[2])
    covariates = ["light"]
    """
    listed = ", ".join(f'"{name}"' for name in covariates)
    return _DATA.format(format=FORMAT, seed=seed, covariates=listed, contrast=contrast)
