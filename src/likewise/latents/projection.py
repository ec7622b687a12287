"""project: images become latents of a generator.

For each image x, find Z [L, D] that minimizes

    D(G(Z), x) + lambda * R(Z),    R(Z) = mean over all L*D entries of (Z_j - mean_j Z)^2

where D is a perceptual distance. (The paper's text writes a sum for R; its code, and its lambda of 0.1, belong to the
mean: lambda_sum = lambda_mean / (L * D).) How the minimum is sought is the ``method``; what is sought is the same.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from likewise.data.pictures import PictureSource
from likewise.errors import ImageError, SpecError, nearest, some
from likewise.latents.gauss_newton import GaussNewton
from likewise.latents.solver import Floats, Solver, no_steps
from likewise.runtime.executor import Result
from likewise.runtime.pixels import resized
from likewise.runtime.registry import Array, Generator, Perceptual, Pictures, Signals, create, to_signals

PROJECTED, UNREADABLE, TOO_SMALL, ASTRAY, ADRIFT = 0, 1, 2, 3, 4
FAILURES = {
    UNREADABLE: "cannot be opened",
    TOO_SMALL: "too small",
    ASTRAY: "the projection did not converge",
    ADRIFT: "the projection is farther from the image than the mean face",
}
FINEST = 32  # an image of fewer pixels than a 32nd of the generator's says too little about a face
_KEPT: dict[str, Any] = {}
PAPER, PIXELS = 0.1, 1e-4  # lambda beside LPIPS, and beside distances between pixels
MANY, EVERY = 400, 16
METHODS = ("auto", "gauss-newton", "encoder", "refine", "singh2021")
PRESETS = {"quick": ("refine", 0.1), "standard": ("auto", 1.0), "thorough": ("refine", 6.0)}
"""Names for a method and its effort."""


@dataclass(frozen=True, kw_only=True)
class ProjectSpec:
    """How images are projected."""

    generator: str = "world"
    """The generator component."""
    options: dict[str, Any] = field(default_factory=dict)
    """The generator's own options, such as ``weights`` and ``device``."""
    perceptual: str = "pixels"
    """The perceptual distance."""
    method: str = "auto"
    """``gauss-newton`` for small generators without gradients; ``refine`` (cheap steps first, exact ones last) and
    ``singh2021`` (the paper's 1000 steps) for those with; ``encoder`` for the embedded generator, without any steps;
    ``auto`` takes ``refine`` or ``gauss-newton``, whichever fits. ``quick``, ``standard`` and ``thorough`` are names
    for ``refine`` with effort 0.1 (one step after the encoder), ``auto``, and ``refine`` with effort 6."""
    identity: str | None = None
    """The recognizer whose distance ``refine`` makes small as well, so that the reconstruction stays the same person;
    it should not be under audit. Empty is none; None is mobilefacenet for the embedded generator, else none."""
    effort: float = 1.0
    """How many times its own number of steps ``refine`` takes: fewer are quicker, more come nearer to the image."""
    lambda_: float | None = None
    """Weight of the rows' deviation from their mean (of R as a mean over all entries). 0 is the expanded space,
    infinity the restricted one (all rows equal). None is the method's own: the paper's 0.1, or 0.0001 for Gauss-Newton,
    whose distances between pixels are as much smaller."""
    seed: int = 0
    """Of the noise on the way, where the method has any."""

    def __post_init__(self) -> None:
        if self.method in PRESETS:
            self._take_preset()
        if self.method not in METHODS:
            known = (*METHODS, *PRESETS)
            fix = nearest(self.method, known) or f"Choose one of {some(known)}."
            raise SpecError(f"Unknown projection method {self.method!r}", fix=fix)
        if self.lambda_ is not None and not self.lambda_ >= 0:
            raise SpecError(f"lambda is {self.lambda_}", fix="Give 0 or more.")
        if self.identity and self.method not in ("auto", "refine"):
            raise SpecError(f"identity has no effect with method = {self.method!r}", fix="Leave identity out.")
        if not 0 < self.effort <= 100:
            raise SpecError(f"effort is {self.effort}", fix="Give a number above 0 and up to 100.")
        if self.effort != 1 and self.method not in ("auto", "refine"):
            raise SpecError(f"effort has no effect with method = {self.method!r}", fix="Leave effort out.")
        if self.method == "encoder" and self.lambda_ is not None:
            raise SpecError("lambda has no effect with method = 'encoder'", fix="Leave lambda out.")

    def _take_preset(self) -> None:
        """Replace a preset by what it stands for, so that equal work is equal in every table and cache."""
        if self.effort != 1:
            problem = f"effort has no effect with method = {self.method!r}, which has an effort of its own"
            raise SpecError(problem, fix="Leave effort out, or set method = 'refine'.")
        method, effort = PRESETS[self.method]
        object.__setattr__(self, "method", method)
        object.__setattr__(self, "effort", effort)

    @property
    def words(self) -> str:
        """How it was done, for the vectors' source."""
        effort = f", effort {self.effort:g}" if self.effort != 1 else ""
        return self.method + effort + (f", lambda {self.lambda_:g}" if self.lambda_ is not None else "")


@dataclass(frozen=True)
class Projection:
    """The work of one chunk: picklable, so that other processes can do it."""

    spec: ProjectSpec
    album: PictureSource
    every: int = 1
    """About one in ``every`` latents of ``encoder`` and ``quick`` is compared with its image (``compared_every``)."""

    def __call__(self, images: list[str]) -> Result:
        """Return of each image what became of it, its latent, the distance left, the mean face's, and the losses."""
        generator, _, solve = _kept_solver(self.spec, self.every)
        runs = [images[start : start + solve.batch] for start in range(0, len(images), solve.batch)]
        nothing = np.zeros((generator.rows, generator.dim), np.float32), np.full(solve.steps, np.nan, np.float32)
        least = generator.resolution // FINEST
        each = [one for run in runs for one in self._outcomes(run, solve, least)]
        return {
            "state": np.array([one.state for one in each], np.int8),
            "w": np.stack([nothing[0] if one.w is None else one.w for one in each]),
            "distance": np.array([one.left for one in each]),
            "baseline": np.array([one.baseline for one in each]),
            "losses": np.stack([nothing[1] if one.losses is None else one.losses for one in each]),
        }

    def _outcomes(self, images: list[str], solve: Solver, least: int) -> list[Outcome]:
        """Project a few images together, as far as they can be shown."""
        shown = [_shown(self.album, image, solve.size, least=least) for image in images]
        targets = [to_signals(picture) for _, picture in shown if picture is not None]
        found = iter(_found(solve, np.concatenate(targets)) if targets else [])
        return [Outcome(state) if picture is None else self._measured(next(found)) for state, picture in shown]

    def _measured(self, found: Outcome) -> Outcome:
        """A descent may leave the space of faces and draw noise; an encoder takes no steps, and may be far off."""
        if found.state == PROJECTED and self.spec.method != "encoder" and found.left > found.baseline:
            return Outcome(ADRIFT, baseline=found.baseline)
        return found


@dataclass(frozen=True)
class Outcome:
    """What became of one image."""

    state: int
    w: Array | None = None
    left: float = np.nan
    baseline: float = np.nan
    losses: Array | None = None


def not_projected(result: Result) -> int:
    """Count the images of a chunk that came to nothing."""
    return int((result["state"] != PROJECTED).sum())


def _shown(album: PictureSource, image: str, size: int, *, least: int) -> tuple[int, Pictures | None]:
    """Show what can be shown: one bad file among thousands is a failure to count, not the end of the run."""
    try:
        picture = album([image])[0]
    except ImageError:
        return UNREADABLE, None
    return (TOO_SMALL, None) if min(picture.shape[:2]) < least else (PROJECTED, resized(picture, size)[None])


def _found(solve: Solver, targets: Signals) -> list[Outcome]:
    """Project images; whatever goes wrong with one is that image's failure, and the others go on.

    Want of memory is not: it would fail the next image as well, so it is the engine's business. Several images that
    cannot be projected together are projected one by one.
    """
    try:
        w, left, losses = solve.traced(targets)
    except (ArithmeticError, np.linalg.LinAlgError, RuntimeError) as error:
        if len(targets) > 1:
            return [one for target in targets for one in _found(solve, target[None])]
        if isinstance(error, RuntimeError) and "memory" in str(error).lower():
            raise
        return [Outcome(ASTRAY)]
    ended = np.isfinite(w).all(axis=(1, 2)) & (np.isfinite(left) | solve.sampled)
    far = solve.from_mean(targets)
    return [
        Outcome(PROJECTED, w[row], float(left[row]), float(far[row]), losses[row]) if ended[row] else Outcome(ASTRAY)
        for row in range(len(targets))
    ]


def _kept_solver(spec: ProjectSpec, every: int) -> tuple[Generator, Perceptual, Solver]:
    """Return the solver of a spec; it is made once a process, because chunks may be single images."""
    key = json.dumps([asdict(spec), every], sort_keys=True, default=str)
    if _KEPT.get("key") != key:
        _KEPT.update(key=key, solver=solver(spec, every=every))
    kept: tuple[Generator, Perceptual, Solver] = _KEPT["solver"]
    return kept


def compared_every(spec: ProjectSpec, images: int) -> int:
    """Return which share of the latents is compared with its image: all of a few, one in ``EVERY`` of many.

    So with the encoder and ``quick``. To draw and compare costs five times what encoding does and about as much as the
    step of ``quick``, and only the median of the distances is reported. Descents have drawn the outcome anyway.
    """
    return EVERY if (spec.method == "encoder" or _is_quick(spec)) and images >= MANY else 1


def _is_quick(spec: ProjectSpec) -> bool:
    return spec.method in ("auto", "refine") and spec.effort <= PRESETS["quick"][1]


def solver(spec: ProjectSpec, *, every: int = 1) -> tuple[Generator, Perceptual, Solver]:
    """Return the generator, the perceptual distance, and what projects with them."""
    generator: Generator = create("generator", spec.generator, spec.options)
    perceptual: Perceptual = create("perceptual", spec.perceptual)
    method = spec.method
    if method == "auto":
        method = "refine" if hasattr(generator, "draw") else "gauss-newton"
    if method == "gauss-newton":
        if spec.effort != 1:
            problem = f"effort has no effect: {spec.generator} has no gradients and is projected by 'gauss-newton'"
            raise SpecError(problem, fix="Leave effort out.")
        return generator, perceptual, _gauss_newton(generator, perceptual, spec)
    return generator, perceptual, _with_torch(generator, perceptual, method, spec, every)


def _with_torch(generator: Generator, perceptual: Perceptual, method: str, spec: ProjectSpec, every: int) -> Solver:
    """Torch is loaded only where it is needed."""
    from likewise.latents.encoder import encoder_solver  # noqa: PLC0415
    from likewise.latents.gradient import quick_solver, solver_of  # noqa: PLC0415

    if method == "encoder":
        return encoder_solver(generator, perceptual, every=every)
    weight = PAPER if spec.lambda_ is None else spec.lambda_
    if _is_quick(spec):
        quick = quick_solver(generator, perceptual, weight=weight, identity=spec.identity, every=every)
        if quick is not None:
            return quick
    return solver_of(
        generator, perceptual, method, weight=weight, seed=spec.seed, identity=spec.identity, effort=spec.effort
    )


def _gauss_newton(generator: Generator, perceptual: Perceptual, spec: ProjectSpec) -> Solver:
    own = GaussNewton(generator, perceptual, weight=PIXELS if spec.lambda_ is None else spec.lambda_)

    def solve(targets: Signals) -> tuple[Array, Floats, Array]:
        found = [own.project(target) for target in targets]
        latents = np.stack([w for w, _ in found]).astype(np.float32)
        return latents, np.array([left for _, left in found]), no_steps(len(found))

    def from_mean(targets: Signals) -> Floats:
        mean = generator.synthesize(np.tile(generator.mean_w(), (1, generator.rows, 1)))
        return np.asarray(perceptual.distance(targets, np.repeat(mean, len(targets), axis=0)), np.float64)

    return Solver(generator.resolution, solve, from_mean)
