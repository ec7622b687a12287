"""Any ONNX embedding: a model file and a short card that says what it wants to see and how its answer is read."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from likewise.errors import InputError, PluginError, SpecError, nearest, some
from likewise.models.intake import Intake
from likewise.models.needs import needed
from likewise.models.recognisers.aligned import BATCH, AlignedRecogniser, Card
from likewise.models.recognisers.faster import faster
from likewise.plugins import Array, Pictures
from likewise.weights import where


class OnnxRecogniser(AlignedRecogniser):
    """Runs an ONNX model with onnxruntime, in batches where the model allows them."""

    def __init__(
        self, card: Card, model: str | Path, *, output: str = "", device: str = "cpu", batch: int = BATCH
    ) -> None:
        super().__init__(card, batch=batch)
        self._session = session(str(where(model)), device)
        self._input, self._output = _ends(self._session, card, output)
        first = self._session.get_inputs()[0].shape[0]
        self._at_once = first if isinstance(first, int) else 0
        self.dim = int(self.forward(np.zeros((1, self.intake.size, self.intake.size, 3), np.uint8)).shape[1])

    def forward(self, crops: Pictures) -> Array:
        """Embed one batch; a model whose batch is fixed gets its crops in that many."""
        given = self.intake.prepared(crops)
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


class OwnOnnx(OnnxRecogniser):
    """The occupant ``onnx``: a user's model, described by a card in TOML."""

    def __init__(self, *, card: str, device: str = "cpu", batch: int = BATCH) -> None:
        path = Path(card)
        described, model, output = read_card(path)
        super().__init__(described, model, output=output, device=device, batch=batch)


def read_card(path: Path) -> tuple[Card, str | Path, str]:
    """Return a card, where its model is (a file beside the card, or a weight's name), and which output is meant."""
    try:
        plain = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"the card {str(path)!r} is a TOML file", got=str(error)) from error
    known = [entry.name for entry in fields(Card)] + ["model", "output"]
    _refuse_unknown(plain, known, "a card")
    intake = plain.get("intake", {})
    _refuse_unknown(intake, [entry.name for entry in fields(Intake)], "[intake]")
    missing = [key for key in ("name", "family", "licence", "model", "threshold", "set_on") if key not in plain]
    if missing or "size" not in intake:
        missing += [] if "size" in intake else ["intake.size"]
        raise SpecError(f"the card {path.name} says {some(missing, 8)}", got="no such line")
    model, output = str(plain.pop("model")), str(plain.pop("output", ""))
    beside = path.parent / model
    described = Card(**{**plain, "intake": Intake(**intake)})
    return described, beside if beside.is_file() else model, output


def _refuse_unknown(plain: Mapping[str, Any], known: list[str], where_: str) -> None:
    for key in plain:
        if key not in known:
            fix = nearest(key, known) or f"It knows {some(known, 16)}."
            raise SpecError(f"{where_} has no key {key!r}", fix=fix)


@lru_cache(maxsize=8)
def session(path: str, device: str = "cpu") -> Any:
    """Open a model file once a process."""
    model = faster(Path(path)) if device == "cpu" else None
    try:
        return opened(model or path, device)
    except PluginError:
        raise
    except Exception as error:  # the runtime has an exception of its own for every way to be no model
        raise InputError(f"{Path(path).name} is an ONNX model", got=str(error).splitlines()[0][:200]) from error


def opened(model: bytes | str, device: str) -> Any:
    """Open a model. On a CPU it runs on one thread, because batches run side by side (see ``batches``)."""
    runtime = needed("onnxruntime", "onnx")
    providers = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
    if providers.get(device) not in runtime.get_available_providers():
        fix = "Use device = 'cpu', or install onnxruntime-gpu."
        raise PluginError("device is 'cpu', or 'cuda' where there is one", got=repr(device), fix=fix)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return runtime.InferenceSession(model, options, providers=[providers[device]])


def _ends(opened: Any, card: Card, output: str) -> tuple[str, str]:
    """Return the names of the only input and of the output that is meant, and check the input's shape."""
    inputs, outputs = opened.get_inputs(), [entry.name for entry in opened.get_outputs()]
    if len(inputs) != 1:
        raise InputError("an embedding has one input", got=some([entry.name for entry in inputs]))
    if output and output not in outputs:
        raise SpecError(f"the model has an output {output!r}", got=some(outputs), fix=nearest(output, outputs))
    if not output and len(outputs) != 1:
        raise SpecError("a card names the output when there are several", got=some(outputs), fix="Say output = ...")
    size, layout = card.intake.size, card.intake.layout
    wanted = {"NCHW": [3, size, size], "NHWC": [size, size, 3]}[layout]
    shape = inputs[0].shape[1:]
    if len(shape) != 3 or any(isinstance(n, int) and n != w for n, w in zip(shape, wanted, strict=True)):
        raise InputError(f"{card.name} takes {layout} of {size} px, as its card says", got=str(inputs[0].shape))
    if inputs[0].type != "tensor(float)":
        raise InputError(f"{card.name} takes float32", got=inputs[0].type, fix="Export it in single precision.")
    return inputs[0].name, output or outputs[0]
