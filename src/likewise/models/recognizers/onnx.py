"""Any ONNX recognizer: a model file and a model card that describes its input, its distance and its threshold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import InputError, PluginError, SpecError, nearest, some
from likewise.models.recognizers.aligned import BATCH, AlignedRecognizer, ModelCard
from likewise.models.recognizers.onnx_optimize import faster
from likewise.runtime.config import read_toml, validate
from likewise.runtime.optional import require
from likewise.runtime.registry import Array, Pictures
from likewise.weights import where


class OnnxRecognizer(AlignedRecognizer):
    """Runs an ONNX model with onnxruntime, in batches where the model allows them."""

    def __init__(
        self, card: ModelCard, model: str | Path, *, output: str = "", device: str = "cpu", batch: int = BATCH
    ) -> None:
        super().__init__(card, batch=batch)
        self._session = session(str(where(model)), device)
        self._input, self._output = _ends(self._session, card, output)
        first = self._session.get_inputs()[0].shape[0]
        self._at_once = first if isinstance(first, int) else 0
        self.dim = int(
            self.forward(np.zeros((1, self.preprocessing.size, self.preprocessing.size, 3), np.uint8)).shape[1]
        )

    def forward(self, crops: Pictures) -> Array:
        """Embed one batch; a model whose batch is fixed gets its crops in that many."""
        given = self.preprocessing.prepared(crops)
        if not self._at_once or self._at_once == len(given):
            return self._run(given)
        parts = [self._run_padded(given[k : k + self._at_once]) for k in range(0, len(given), self._at_once)]
        return np.concatenate(parts)

    def _run_padded(self, given: Array) -> Array:
        short = self._at_once - len(given)
        padded = np.concatenate([given, np.zeros((short, *given.shape[1:]), np.float32)]) if short else given
        return self._run(padded)[: len(given)]

    def _run(self, given: Array) -> Array:
        answer: Array = self._session.run([self._output], {self._input: given})[0]
        return answer.reshape(len(given), -1)


@dataclass(frozen=True, kw_only=True)
class ModelFileCard(ModelCard):
    """A model card that also names its ONNX file."""

    model: str
    """The model file, relative to the card; or the name of a weight."""
    output: str = ""
    """Which output is the embedding, where the model has several."""


class CardRecognizer(OnnxRecognizer):
    """The component ``onnx``: a user's model, described by a model card in TOML."""

    def __init__(self, *, card: str, device: str = "cpu", batch: int = BATCH) -> None:
        described = read_card(Path(card))
        model = model_of(described.model, Path(card))
        super().__init__(described, model, output=described.output, device=device, batch=batch)


def read_card(path: Path) -> ModelFileCard:
    """Read and validate a model card in TOML; all problems of the file are reported at once.

    Parameters
    ----------
    path
        The card. The model file it names is relative to the card, or is the name of a weight.

    Raises
    ------
    InputError
        The file cannot be read, is no TOML, lacks a key or has an unknown one.
    """
    return validate(ModelFileCard, read_toml(path, error=InputError), error=SpecError)


def model_of(card: str, path: Path) -> str | Path:
    """Return the model file beside a card; the name of a weight where there is no such file."""
    beside = path.parent / card
    return beside if beside.is_file() else card


@lru_cache(maxsize=8)
def session(path: str, device: str = "cpu") -> Any:
    """Open a model file once a process."""
    model = faster(Path(path)) if device == "cpu" else None
    try:
        return opened(model or path, device)
    except PluginError:
        raise
    except Exception as error:  # the runtime has an exception of its own for every way to be no model
        raise InputError(
            f"{Path(path).name} is not an ONNX model that can be opened: {str(error).splitlines()[0][:200]}",
            fix="Export the model again; onnx.checker names what is wrong with it.",
        ) from error


def opened(model: bytes | str, device: str) -> Any:
    """Open a model. On a CPU it runs on one thread, because batches run side by side (see ``batches``)."""
    runtime = require("onnxruntime", "onnx")
    providers = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
    if providers.get(device) not in runtime.get_available_providers():
        fix = "Use device = 'cpu', or install onnxruntime-gpu."
        raise PluginError(f"Device {device!r} is not available", fix=fix)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=[providers[device]])


def _ends(opened: Any, card: ModelCard, output: str) -> tuple[str, str]:
    """Return the names of the only input and of the output that is meant, and check the input's shape."""
    inputs, outputs = opened.get_inputs(), [entry.name for entry in opened.get_outputs()]
    if len(inputs) != 1:
        raise InputError(
            f"The model has {len(inputs)} inputs ({some([entry.name for entry in inputs])}); a recognizer must have one"
        )
    if output and output not in outputs:
        raise SpecError(f"The model has no output {output!r} (outputs: {some(outputs)})", fix=nearest(output, outputs))
    if not output and len(outputs) != 1:
        raise SpecError(
            f"The model has {len(outputs)} outputs ({some(outputs)}) and the model card names none",
            fix="Add output = ... to the card.",
        )
    size, layout = card.preprocessing.size, card.preprocessing.layout
    wanted = {"NCHW": [3, size, size], "NHWC": [size, size, 3]}[layout]
    shape = inputs[0].shape[1:]
    if len(shape) != 3 or any(isinstance(n, int) and n != w for n, w in zip(shape, wanted, strict=True)):
        raise InputError(
            f"{card.name} takes input of shape {inputs[0].shape}, but its model card says {layout} of {size} px",
            fix="Correct the layout and the size in the model card.",
        )
    if inputs[0].type != "tensor(float)":
        raise InputError(f"{card.name} takes {inputs[0].type}, not float32", fix="Export it in single precision.")
    return inputs[0].name, output or outputs[0]
