"""Seconds per 1,000 counterfactuals against the plain loop: ``python benchmarks/counterfactuals.py``.

The plain loop is what one would write first: for every image and every level, open the picture, find the face, cut it
out, find its skin, edit it, put it back, save it. The sweep does the same to the same bytes, but looks at each face
once, draws its levels together, and has two processes. Both have their networks loaded before the clock starts, but for
the processes of the sweep, whose start is counted. Both are timed in the same run, in turns. ``--cpu`` counts the CPU
time of one process instead: what is left without a second core, and what a busy machine does not change. ``--packing``
shows what the way of writing PNG files has to do with it.

The pictures are one public-domain portrait, turned and framed in many ways. The fader network is untrained: what it
draws does not change what it costs.
"""

from __future__ import annotations

import argparse
import io
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import matplotlib.cbook
import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from likewise.counterfactuals.face_region import FaceLocator, FaceRegion
from likewise.counterfactuals.masked_sweep import FRAME, MaskedSweep, segmenter, size_of
from likewise.counterfactuals.sweep_spec import SweepSpec, editor_of, even_strengths
from likewise.data.align import AlignSpec
from likewise.data.keys import file_of, key_of
from likewise.models.detectors.registry import detector
from likewise.models.fader.network import Fader, FaderShape, save_fader
from likewise.runtime.cpu import tune
from likewise.runtime.executor import Executor
from likewise.runtime.pixels import ImageFolder, decode, png

Clock = Callable[[], float]
Array = npt.NDArray[np.uint8]


def pictures(folder: Path, count: int, side: int) -> dict[str, str]:
    """Write portraits that differ in turn and framing."""
    path = matplotlib.cbook.get_sample_data("grace_hopper.jpg", asfileobj=False)
    with Image.open(str(path)) as opened:
        portrait = opened.convert("RGB").crop((0, 0, 512, 512))
    files = {}
    for number in range(count):
        aside = number % 7 * 6
        turned = portrait.rotate(number % 11 - 5, Image.Resampling.BICUBIC).crop((aside, aside, 512, 512))
        turned.resize((side, side), Image.Resampling.LANCZOS).save(folder / f"{number}.jpg", quality=92)
        files[str(number)] = f"{number}.jpg"
    return files


def plain(spec: SweepSpec, album: ImageFolder, folder: Path, clock: Clock) -> float:
    """Make every counterfactual by itself; return the seconds."""
    editor = editor_of(spec)
    size = size_of(editor)
    place = FaceLocator(detector(spec.detector), segmenter(), AlignSpec(frame=FRAME, size=size), size)
    folder.mkdir()
    started = clock()
    for image, file in album.files.items():
        for level in spec.strengths:
            (face,) = place([decode(album.root / file)])
            if isinstance(face, FaceRegion):
                edited = editor.edit(face.crop[None], level)[0]
                Image.fromarray(face.put_back(face.crop, edited)).save(folder / file_of(key_of(image, level)))
    return clock() - started


def together(spec: SweepSpec, album: ImageFolder, folder: Path, clock: Clock, workers: int) -> float:
    """Make them as the command does; return the seconds, the start of the processes included."""
    size = size_of(editor_of(spec))
    work = MaskedSweep(spec, album, folder, align=AlignSpec(frame=FRAME, size=size))
    started = clock()
    chunk = max(4, -(-len(album.files) // (4 * workers)))
    engine = Executor(kind="processes", workers=workers, chunk=chunk) if workers > 1 else Executor(chunk=chunk)
    settings = tune(engine)  # as the command line does: every process keeps to its share of the cores
    for _ in engine.map(work, list(album.files)):
        pass
    for name in settings:
        del os.environ[name]  # the plain loop has its libraries' own
    return clock() - started


def packing(folder: Path, files: dict[str, str]) -> str:
    """Say what writing a picture costs with the library's settings and with ours, in CPU time and bytes."""
    shown = [decode(folder / file) for file in files.values()]
    ways: dict[str, Callable[[Array], bytes]] = {
        "likewise": png,
        "the library's default": lambda picture: _by_library(picture, 6),
        "the library's quickest": lambda picture: _by_library(picture, 1),
    }
    timed = {}
    for name, way in ways.items():
        started = time.process_time()
        size = sum(len(way(picture)) for picture in shown)
        timed[name] = (time.process_time() - started, size)
    seconds, size = timed["likewise"]
    return "\n".join(
        f"{name}: {t / seconds:.2f} x the time, {s / size:.3f} x the bytes" for name, (t, s) in timed.items()
    )


def _by_library(picture: Array, level: int) -> bytes:
    file = io.BytesIO()
    Image.fromarray(picture).save(file, format="PNG", compress_level=level)
    return file.getvalue()


def agree(one: Path, other: Path) -> tuple[int, int]:
    """Count the pictures, and how far apart two makings of one are at most, in steps of a byte."""
    names = sorted(path.name for path in one.iterdir())
    if names != sorted(path.name for path in other.iterdir()):
        raise SystemExit("the two ways did not make the same pictures")
    apart = [np.abs(decode(one / name).astype(int) - decode(other / name)).max() for name in names]
    return len(names), int(max(apart))


def main() -> None:
    """Time both ways in turns and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=143)
    parser.add_argument("--side", type=int, default=512)
    parser.add_argument("--levels", default="-2:2:7")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--cpu", action="store_true", help="CPU time of one process each")
    parser.add_argument("--packing", action="store_true", help="compare ways to write the pictures, and nothing else")
    given = parser.parse_args()
    clock, workers = (time.process_time, 1) if given.cpu else (time.perf_counter, given.workers)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "images").mkdir()
        torch.manual_seed(0)
        shape = FaderShape(attributes=("perceived_gender", "smiling", "young", "eyeglasses"), size=64)
        save_fader(folder / "fader.safetensors", Fader(shape), {})
        album = ImageFolder(folder / "images", pictures(folder / "images", given.images, given.side))
        if given.packing:
            print(packing(album.root, dict(album.files)))
            return
        options = {"weights": str(folder / "fader.safetensors")}
        spec = SweepSpec(editor="fader", options=options, strengths=even_strengths(given.levels), placebo=False)
        for repeat in range(given.repeats):
            ways = [folder / f"{way}-{repeat}" for way in ("plain", "sweep")]
            seconds = [plain(spec, album, ways[0], clock), together(spec, album, ways[1], clock, workers)]
            count, apart = agree(*ways)
            first, second = (1000 * each / count for each in seconds)
            print(
                f"{count} counterfactuals of {given.side} px: plain loop {first:.1f} s per 1,000, sweep {second:.1f} s "
                f"per 1,000 ({workers} workers): {first / second:.1f} times faster; up to {apart} apart",
                flush=True,
            )


if __name__ == "__main__":
    main()
