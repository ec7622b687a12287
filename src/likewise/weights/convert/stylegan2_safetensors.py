"""StyleGAN2 in our own form: what one user converted, another may add."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from likewise.errors import WeightsError
from likewise.weights.convert.stylegan2 import NETWORK, Array, Config, finding, save
from likewise.weights.finding import Finding


def recognise(path: Path) -> Finding | None:
    """Say what generator a file holds; None if it is another kind of file, or of another network."""
    config = _config(path)
    return finding(config, "own form", f"{__name__}:convert") if config else None


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Check that names and shapes are those of the config, and write the file in float32."""
    (path,) = members.values()
    config = _config(path)
    if config is None:
        raise WeightsError(f"{path.name} is a safetensors file of {NETWORK!r}", got="another kind of file")
    from safetensors import safe_open  # noqa: PLC0415

    with safe_open(str(path), framework="numpy") as file:
        tensors: dict[str, Array] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save(config, tensors, target)


def _config(path: Path) -> Config | None:
    try:
        from safetensors import SafetensorError, safe_open  # noqa: PLC0415
    except ImportError:  # without the extra `torch` there is nobody who could draw it
        return None
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
    except (SafetensorError, OSError):
        return None
    return Config.from_json(metadata.get("config", "")) if metadata.get("network") == NETWORK else None
