"""StyleGAN2 in the common form: a file that one user converted can be added by another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from likewise.errors import WeightFileError
from likewise.weights.convert.stylegan2.network import NETWORK, Array, Config, finding, save
from likewise.weights.finding import Finding
from likewise.weights.formats import safetensors_file


def recognize(path: Path) -> Finding | None:
    """Say what generator a file holds; None if it is another kind of file, or of another network."""
    config = _config(path)
    return finding(config, "own form", "stylegan2-own-form") if config else None


def convert(members: Mapping[str, Path], target: Path) -> None:
    """Check that names and shapes are those of the config, and write the file in float32."""
    (path,) = members.values()
    config = _config(path)
    if config is None:
        raise WeightFileError(f"{path.name} is not a safetensors file of {NETWORK!r}")
    from safetensors import safe_open  # noqa: PLC0415

    with safe_open(str(path), framework="numpy") as file:
        tensors: dict[str, Array] = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    save(config, tensors, target)


def _config(path: Path) -> Config | None:
    if safetensors_file.recognize(path) is None:  # also checks the header, more strictly than the library does
        return None
    try:
        from safetensors import SafetensorError, safe_open  # noqa: PLC0415
    except ImportError:  # without the extra `torch` nothing could draw it
        return None
    try:
        with safe_open(str(path), framework="numpy") as file:
            metadata = file.metadata() or {}
    except (SafetensorError, OSError):
        return None
    return Config.from_json(metadata.get("config", "")) if metadata.get("network") == NETWORK else None
