"""What a face costs a newcomer's loop, and what it costs here: the part of ``benchmarks/networks.py`` with pictures.

The loop is what one writes first: open a file, resize it, scale it, call the network, next file; the network is opened
once, with its library's own settings or with one thread. Ours reads and embeds the same files as ``likewise rate``.
Both take turns, so that a busy moment meets both; what is printed are medians of the turns, by the clock (for an idle
machine) and of CPU (which other people's load changes little; a library's waiting threads count).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime  # type: ignore[import-untyped]
import torch
from PIL import Image

from benchmarks.roofline import operations, peak
from likewise.models.classifiers.faces import Age, Emotion, FaceClassifier, FaceResGender, Gear, Gender
from likewise.models.detectors.detected_faces import DetectedFaces
from likewise.models.detectors.detection import Detection
from likewise.models.perception.segmentation import Segmenter
from likewise.models.recognizers.torch import NETWORKS
from likewise.models.state import fill, read_state
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import Array, Pictures, create
from likewise.runtime.threads import cores
from likewise.weights import where

RECOGNIZERS = ("mobilefacenet", "openface", "faceplugin", "faceres", "facenet")
FACES, TURNS = 1000, 5
DEFAULT_THREADS = torch.get_num_threads()
Call = Callable[[Array], object]
Work = Callable[[list[Path]], object]


def embedding(data: Path, count: int = FACES) -> None:
    """Embed 1,000 aligned faces one by one and as we do."""
    with _pictures(data, count) as files:
        for name in RECOGNIZERS:
            recognizer = create("recognizer", name)
            ways = {
                "loop": _loop(recognizer, _newcomer(name, recognizer, threads=0)),
                "loop, one thread": _loop(recognizer, _newcomer(name, recognizer, threads=1)),
                "ours": _ours(recognizer),
            }
            before = peak()
            spent = _turns(ways, files)
            _say("embedding", name, spent)
            _say_roof(name, spent, operations(name, recognizer.preprocessing.size), max(before, peak()))


def _say_roof(name: str, spent: dict[str, tuple[float, float]], needed: float, most: float) -> None:
    """Say how much of what the machine can do each way uses, and how fast a face would be if all of it were used."""
    floor, alone = needed / most, spent["loop, one thread"][1]
    shares = ", ".join(f"{way} {100 * floor / cpu:.0f} %" for way, (_, cpu) in spent.items())
    print(f"embedding: {name}: share of the peak ({1e-9 * most:.0f} GFLOP/s a core): {shares}", flush=True)
    said = f"{1e-6 * needed:.0f} MFLOP a face take {1e3 * floor:.1f} ms at the peak"
    could = f"{cores() * alone / floor:.1f} times as fast as the loop of one thread, if pictures cost nothing"
    print(f"embedding: {name}: {said}; {cores()} cores at the peak: {could}", flush=True)


def describing(data: Path, count: int = FACES) -> None:
    """Ask the face classifiers and the segmenter one picture at a time, with their library's settings, and as we do."""
    with _pictures(data, count // 5) as files:
        pictures = np.stack([np.asarray(Image.open(file).convert("RGB").resize((256, 256))) for file in files])
        models: tuple[FaceClassifier, ...] = (Gender(), Age(), FaceResGender(), Gear(), Emotion())
        for model in models:
            ways = {"loop": _each(_cut(model), _session(where(model.network), 0)), "ours": _described(model)}
            _say("describing", model.name, _turns(ways, list(pictures)))
        segmenter = Segmenter()
        ways = {
            "loop": _each(_signals, _session(where("selfie-multiclass"), 0)),
            "ours": lambda part: segmenter.classes(np.stack(part)),
        }
        _say("describing", segmenter.name, _turns(ways, list(pictures[: count // 10])))


def _cut(model: FaceClassifier) -> Callable[[Pictures], Array]:
    preprocessing = model.preprocessing
    return lambda pictures: model.prepared(_middle(pictures).crops(preprocessing.template, preprocessing.size))


def _described(model: FaceClassifier) -> Callable[[list[Any]], object]:
    return lambda part: model.outputs(_middle(np.stack(part)))


def _signals(pictures: Pictures) -> Array:
    return np.asarray(pictures, np.float32) / np.float32(127.5) - np.float32(1)


def _say(title: str, name: str, spent: dict[str, tuple[float, float]]) -> None:
    ours = spent["ours"]
    print(f"{title}: {name}: ours {1e3 * ours[0]:.1f} ms a face, {1e3 * ours[1]:.1f} ms of CPU", flush=True)
    for way, (wall, cpu) in spent.items():
        if way != "ours":
            gain = f"{wall / ours[0]:.1f} times as fast, {cpu / ours[1]:.1f} times less CPU"
            print(f"{title}: {name}: {way} {1e3 * wall:.1f} ms, {1e3 * cpu:.1f} ms of CPU: {gain}", flush=True)


def _each(prepare: Callable[[Pictures], Any], call: Call) -> Callable[[list[Any]], object]:
    return lambda part: [call(prepare(crop[None])) for crop in part]


def _middle(pictures: Pictures) -> DetectedFaces:
    """Say that a face of usual proportions is in the middle of each picture: finding one is not measured here."""
    side = pictures.shape[1]
    points = np.array([[0.68, 0.45], [0.57, 0.46], [0.32, 0.45], [0.43, 0.46], [0.5, 0.62]]) * side
    return DetectedFaces(pictures, [Detection((0, 0, side, side), points, 1.0)] * len(pictures), "corners")


def _turns(ways: dict[str, Callable[[list[Any]], object]], items: list[Any]) -> dict[str, tuple[float, float]]:
    """Return the median seconds an item of each way, by the clock and of CPU, of turns with a part of the items."""
    parts = [items[turn::TURNS] for turn in range(TURNS)]
    spent: dict[str, list[tuple[float, float]]] = {way: [] for way in ways}
    for work in ways.values():
        work(parts[0][:16])
    for part in parts:
        for way, work in ways.items():
            wall, cpu = time.perf_counter(), time.process_time()
            work(part)
            spent[way].append(((time.perf_counter() - wall) / len(part), (time.process_time() - cpu) / len(part)))
    return {way: (_median(costs, 0), _median(costs, 1)) for way, costs in spent.items()}


def _median(costs: list[tuple[float, float]], which: int) -> float:
    return statistics.median(cost[which] for cost in costs)


def _ours(recognizer: Any) -> Work:
    def work(files: list[Path]) -> object:
        album = ImageFolder(files[0].parent, {file.name: file.name for file in files})
        return [
            recognizer.embed_crops(album(part, size=recognizer.preprocessing.size)) for part in _runs(list(album.files))
        ]

    return work


def _runs(keys: list[str], chunk: int = 64) -> list[list[str]]:
    return [keys[start : start + chunk] for start in range(0, len(keys), chunk)]


def _loop(recognizer: Any, call: Call) -> Work:
    size, prepared = recognizer.preprocessing.size, recognizer.preprocessing.prepared

    def work(files: list[Path]) -> object:
        found = []
        for file in files:
            picture = np.asarray(Image.open(file).convert("RGB").resize((size, size)))
            found.append(call(prepared(picture[None])))
        return found

    return work


def _newcomer(name: str, recognizer: Any, *, threads: int) -> Call:
    """Return the plain call of a network; 0 threads stands for the library's own choice."""
    return _eager(name, threads) if name in NETWORKS else _session(where(name), threads)


def _session(path: Path, threads: int) -> Call:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    opened = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    entry = opened.get_inputs()[0].name
    return lambda x: opened.run(None, {entry: x})


def _eager(name: str, threads: int) -> Call:
    network = NETWORKS[name]().eval()
    tensors, _ = read_state(where(name), name)
    fill(network, tensors, name)

    def call(x: npt.NDArray[np.float32]) -> object:
        if torch.get_num_threads() != (threads or DEFAULT_THREADS):
            torch.set_num_threads(threads or DEFAULT_THREADS)
        with torch.no_grad():
            return network(torch.from_numpy(x)).numpy()

    return call


@contextmanager
def _pictures(data: Path, count: int) -> Iterator[list[Path]]:
    """Give so many aligned faces of 256 px: the CelebA-HQ subset's, or smooth noise where it is not at hand."""
    files = sorted((data / "celebahq" / "images").glob("*.jpg"))[:count]
    if len(files) == count:
        yield files
        return
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            small = Image.fromarray(rng.integers(0, 256, (32, 32, 3), dtype=np.uint8))
            small.resize((256, 256), Image.Resampling.BICUBIC).save(Path(folder) / f"{number}.jpg", quality=90)
        yield sorted(Path(folder).glob("*.jpg"))
