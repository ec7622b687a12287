"""Every benchmark, one after another: small sizes first, and what cannot run here is said.

    ./scripts/bench                  small sizes, some minutes
    ./scripts/bench --full           the sizes of the documents; hours
    ./scripts/bench matching study_load

Each runs in a process of its own; failures are reported at the end and do not stop the others. A file that is
not in the table below is run without arguments.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
NOT_BENCHMARKS = {
    "__init__", "everything", "postgres", "artifact_examples", "artifact_forms", "artifact_faces", "artifact_people",
    "artifact_training", "other_artifacts",
}  # fmt: skip
WORK = "{work}"
DATA = "{data}"


@dataclass(frozen=True)
class Benchmark:
    """How one is called, small and full, and what it needs."""

    small: tuple[str, ...] = ()
    full: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    """At which sizes (small, full) it reads the real data that LIKEWISE_DATA names."""
    weights: tuple[str, ...] = ()
    """Pretrained weights that must have been fetched."""
    by_hand: str = ""
    """Why it must be run by hand: it needs arguments."""
    modules: tuple[str, ...] = field(default=())
    """Libraries of an extra."""


KNOWN = {
    "audit_time": Benchmark(("--images", "100")),
    "resampling": Benchmark(("--ratings", "100000", "--resamples", "200")),
    "matching": Benchmark(("a",)),
    "networks": Benchmark(("exits",), weights=("mobilestylegan-ffhq",), modules=("torch",)),
    "recognizers": Benchmark(
        ("--speed", "32"),
        ("--data", DATA, "--work", WORK),
        data=("full",),
        weights=("dlib-resnet", "mobilefacenet", "openface"),
        modules=("torch", "dlib"),
    ),
    "attributes": Benchmark(
        ("--data", DATA, "--work", WORK, "--images", "40"),
        ("--data", DATA, "--work", WORK),
        data=("small", "full"),
        modules=("torch", "dlib"),
    ),
    "artifacts": Benchmark(by_hand="half an hour of training: python -m benchmarks.artifacts all --work DIR"),
    "artifact_photographs": Benchmark(by_hand="edit photographs first: python -m benchmarks.editors run --work DIR"),
    "crowd": Benchmark(by_hand="make, rehearse and report are three steps: python -m benchmarks.crowd make --work DIR"),
    "editors": Benchmark(by_hand="run an editor first: python -m benchmarks.editors run --work DIR"),
    "fairface": Benchmark(
        ("--images", "2", "--method", "encoder", "--work", WORK),
        ("--images", "240", "--work", WORK),
        data=("small", "full"),
        weights=("mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet", "retinaface"),
        modules=("torch", "onnxruntime"),
    ),
    "projection": Benchmark(
        ("project", "--method", "encoder", "--images", "2", "--work", WORK),
        ("project", "--images", "60", "--work", WORK),
        data=("small", "full"),
        weights=("mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet", "dlib-resnet"),
        modules=("torch", "dlib"),
    ),
    "projected": Benchmark(
        by_hand="python -m benchmarks.projected --work DIR: needs what benchmarks.projection has projected"
    ),
    "distances": Benchmark(
        by_hand="python -m benchmarks.distances --work DIR: needs the latents of benchmarks.real_audit"
    ),
    "real_audit": Benchmark(
        ("--people", "40", "--work", WORK),
        ("--work", WORK),
        data=("small", "full"),
        weights=(
            "mobilestylegan-ffhq",
            "lpips-alexnet",
            "mobilefacenet",
            "retinaface",
            "faceplugin",
            "sface",
            "facenet",
        ),
        modules=("torch", "dlib", "onnxruntime"),
    ),
    "semantics": Benchmark(
        ("--images", "100", "--work", WORK),
        ("--images", "1000", "--work", WORK),
        data=("small", "full"),
        weights=("mobilestylegan-ffhq", "lpips-alexnet", "mobilefacenet"),
        modules=("torch",),
    ),
    "crops": Benchmark(
        ("--data", DATA, "--work", WORK, "--people", "40", "--choosing", "10", "--fairface", "40"),
        ("--data", DATA, "--work", WORK),
        data=("small", "full"),
        weights=("faceres", "facenet", "gear", "dlib-landmarks-5"),
        modules=("torch", "dlib", "onnxruntime"),
    ),
    "directions": Benchmark(
        ("moves", "--faces", "2"),
        ("moves", "--faces", "20"),
        weights=("mobilestylegan-ffhq",),
        modules=("torch", "dlib"),
    ),
    "held_attributes": Benchmark(("--seeds", "4"), ("--seeds", "20")),
    "held_fader": Benchmark(("--seeds", "2"), modules=("torch",)),
    "counterfactuals": Benchmark(
        ("--images", "12"), weights=("retinaface", "selfie-multiclass"), modules=("torch", "onnxruntime")
    ),
    "study_load": Benchmark(("--seconds", "5", "--only", "sqlite"), modules=("sqlalchemy", "starlette")),
    "world_coverage": Benchmark(("20",), ("400",)),
    "demo_seeds": Benchmark(("1",), ("20",), weights=("mobilestylegan-ffhq", "dlib-resnet", "faceplugin")),
    "coverage": Benchmark(("--seeds", "20", "--clusters", "50")),
    "fader": Benchmark(
        by_hand="python benchmarks/fader.py FACES WEIGHTS: needs a folder of faces and a trained network"
    ),
}


def main() -> int:
    """Run the wanted ones; return 1 when one failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--full", action="store_true", help="the sizes of the documents")
    parser.add_argument("--list", action="store_true", help="only say what would run, and what not and why")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(names()))
    if unknown:
        parser.error(f"no benchmark is called {', '.join(unknown)}; there is {', '.join(names())}")
    skipped, failed = [], []
    for name in given.names or names():
        lacking = missing(KNOWN.get(name, Benchmark()), full=given.full)
        if lacking:
            skipped.append(f"{name}: {lacking}")
        elif given.list:
            print(f"{name}: would run")
        elif not ran(name, full=given.full):
            failed.append(name)
    for title, lines in (("skipped", skipped), ("failed", failed)):
        print("".join(f"\n{title}: {line}" for line in lines).lstrip("\n"), end="\n" if lines else "")
    return 1 if failed else 0


def names() -> list[str]:
    """Name all benchmarks of this folder: those of the table in its order, then any other."""
    there = sorted(path.stem for path in HERE.glob("*.py") if path.stem not in NOT_BENCHMARKS and runs(path))
    return [name for name in KNOWN if name in there] + [name for name in there if name not in KNOWN]


def runs(path: Path) -> bool:
    """Say whether a file is a program and not a part of one."""
    return 'if __name__ == "__main__":' in path.read_text(encoding="utf-8")


def missing(benchmark: Benchmark, *, full: bool = False) -> str:
    """Say why it cannot run here; nothing when it can."""
    return next(reasons(benchmark, "full" if full else "small"), "")


def reasons(benchmark: Benchmark, size: str) -> Iterator[str]:
    """Yield everything that it lacks."""
    if benchmark.by_hand:
        yield f"by hand: {benchmark.by_hand}"
    lacking = [name for name in benchmark.modules if importlib.util.find_spec(name) is None]
    if lacking:
        yield f"needs {', '.join(lacking)}: pip install -e '.[dev]'"
    if size in benchmark.data and not data().is_dir():
        yield f"no real data in {data()} (set LIKEWISE_DATA)"
    if benchmark.weights:
        from likewise.weights.cache import entry  # noqa: PLC0415

        lacking = [name for name in benchmark.weights if entry(name) is None]
        if lacking:
            yield f"weights not fetched: likewise weights fetch {' '.join(lacking)}"


def data() -> Path:
    """Where the real data is: LIKEWISE_DATA, or beside the repository."""
    return Path(os.environ.get("LIKEWISE_DATA", HERE.parent.parent / "shared" / "data"))


def ran(name: str, *, full: bool) -> bool:
    """Run one in a process of its own, from the root; say its command."""
    known = KNOWN.get(name, Benchmark())
    work = Path(tempfile.mkdtemp(prefix=f"bench-{name}-"))
    arguments = [part.format(work=work, data=data()) for part in (known.full if full else known.small)]
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    print(f"\n$ python -m benchmarks.{name} {' '.join(arguments)}".rstrip(), flush=True)
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    done = subprocess.run(command, cwd=HERE.parent, check=False, env={**os.environ, "PYTHONPATH": path})
    shutil.rmtree(work, ignore_errors=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
