from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from likewise.runtime.registry import create
from likewise.services.budget import Budget
from tagging_services import KEY, OWN, Tagger, tagger


@pytest.fixture(autouse=True)
def _keys(monkeypatch):
    for name in ("GOOGLE_API_KEY", "CLARIFAI_PAT", "AZURE_VISION_KEY", "TAGGER_KEY"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", KEY + "-secret")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")


@pytest.fixture
def server():
    with tagger() as running:
        yield running


def options_of(name: str, server: Tagger, folder: Path) -> dict[str, Any]:
    """The options that point a service at the stand-in."""
    if name != "http":
        return {"endpoint": server.url}
    (folder / "tagger.toml").write_text(OWN.format(url=server.url))
    return {"path": str(folder / "tagger.toml")}


@pytest.fixture
def service(server, tmp_path) -> Callable[..., Any]:
    """Make a service that talks to the stand-in, keeps its answers and may spend some money."""

    def make(name: str = "azure", *, most: float = 1.0, **options: Any) -> Any:
        quick = {"wait": 0.001, "threshold": 0.55, **options_of(name, server, tmp_path), **options}
        made = create("classifier", name, quick)
        made.open(tmp_path, Budget(most=most))
        return made

    return make


@pytest.fixture(scope="session")
def pictures():
    """Six pictures, dark to bright."""
    rng = np.random.default_rng(5)
    return np.stack([rng.integers(40 * i, 40 * i + 50, (16, 16, 3), dtype=np.uint8) for i in range(6)])
