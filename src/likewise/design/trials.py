"""trials: which two images a recognizer, or people, compare: of one person (genuine) or of two (impostors)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from typing import Literal

import numpy as np
import pandas as pd

from likewise.design.reference_trials import Ruled, matched_trials, ruled_trials
from likewise.design.references import Difficulty, valid_references
from likewise.design.units import every_genuine
from likewise.errors import SpecError, TableError, some
from likewise.tables import Contrast, Images, Matches, Trials

ACROSS = ("within", "across", "any")
GENUINE = ("ring", "all")


def trials(
    faces: Images,
    *,
    seed: int,
    genuine: Literal["ring", "all"] = "ring",
    impostors: int = 0,
    contrast: Contrast | None = None,
    groups: str = "within",
    references: Matches | None = None,
    difficulty: Difficulty | None = None,
    most: int | None = None,
) -> Trials:
    """Choose which two images are compared: genuine trials of one identity, impostor trials of two.

    Parameters
    ----------
    faces
        The images. Those of people with a single image have no genuine trial; ``dropped`` counts images in no trial.
    seed
        For the random rings, the impostors and the cap.
    genuine
        ``ring``: one trial an image. The images of an identity are put into a random ring and each is compared with
        the next, so that every image is first once and second once; the ring depends on the seed and the identity
        alone. ``all``: every two images of an identity once: the candidates for matching trials.
    impostors
        So many impostor trials an image, drawn by seed: identities first, then one of their images, so that people with
        many images do not occur more often.
    contrast, groups
        Impostors of the same group ("within"), of the other one ("across"), or of either ("any"); ``stratum`` names the
        groups that meet.
    references, difficulty
        Take the references of a matching: only its images are tested, each with its chosen reference. With
        ``difficulty`` (what they were chosen by) and the contrast, all other images of both groups are tested too, with
        a reference by the same rule, as difficult as one of a random partner of the other group.
    most
        Cap on the genuine and on the impostor trials, by a draw that keeps identities balanced.

    Returns
    -------
    Trials

    Examples
    --------
    >>> import pandas as pd, likewise as lw
    >>> images = lw.Images(pd.DataFrame({"image": list("1234"), "identity": list("aaab")}))
    >>> lw.trials(images, genuine="all", seed=0).keys
    ['1|2', '1|3', '2|3']
    >>> len(lw.trials(images, seed=0))
    3
    """
    _check(faces, genuine, impostors, contrast, groups, references, difficulty, most)
    side = contrast.side(faces) if contrast is not None else pd.Series(1, index=pd.Index(faces.keys))
    ruled = _ruled(faces, references, difficulty, contrast, seed)
    own = ruled.genuine if ruled else _rings(faces, seed) if genuine == "ring" else every_genuine(faces)
    tests = sorted({a for a, _ in own}) if ruled else sorted(faces.keys)
    shown = valid_references(faces, references.spec) if references is not None and references.spec else faces.keys
    strangers = _impostors(faces, tests, shown, side, impostors, groups, seed) if impostors else []
    rows = [(a, b, same) for pairs, same in ((own, True), (strangers, False))
            for a, b in _capped(pairs, faces.identities, most, seed)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["a", "b", "same"]).astype({"a": "str", "b": "str", "same": "bool"})
    frame.insert(0, "trial", frame["a"] + "|" + frame["b"])
    if impostors and contrast is not None:
        names = side.map({1: str(contrast.focal), -1: str(contrast.reference), 0: "neither"})
        frame["stratum"] = names.loc[frame["a"]].to_numpy() + " / " + names.loc[frame["b"]].to_numpy()
    return Trials(frame, dropped=_dropped(faces, frame, ruled), offered={"all": len(faces)})


def _ruled(
    faces: Images, references: Matches | None, difficulty: Difficulty | None, contrast: Contrast | None, seed: int
) -> Ruled | None:
    """Return the trials under the rule of a matching; None without one."""
    if references is None:
        return None
    if difficulty is not None and contrast is not None:
        return ruled_trials(faces, references, difficulty, contrast, seed)
    own = matched_trials(references)
    others = {image: "not in the matching" for image in faces.keys if image not in own}
    return Ruled(sorted(own.items()), others)


def _check(
    faces: Images, genuine: str, impostors: int, contrast: Contrast | None, groups: str, references: Matches | None,
    difficulty: Difficulty | None, most: int | None,
) -> None:  # fmt: skip
    if impostors < 0 or (most is not None and most < 1):
        raise SpecError(f"impostors = {impostors} or most = {most} is too small", fix="At least 0 and at least 1.")
    for name, value, known in (("groups", groups, ACROSS), ("genuine", genuine, GENUINE)):
        if value not in known:
            raise SpecError(f"{name} = {value!r} is unknown", fix=f"Known: {some(known)}.")
    if genuine != "ring" and references is not None:
        raise SpecError("genuine = 'all' has no effect with the references of a matching", fix="Remove one of them.")
    if difficulty is not None and (references is None or contrast is None):
        fix = "Give references and contrast too, or remove difficulty."
        raise SpecError("difficulty needs the references of a matching and a contrast", fix=fix)
    if contrast is not None and not impostors and difficulty is None:
        raise SpecError("A contrast has no effect without impostors or difficulty", fix="Remove it.")
    if groups != "within" and (contrast is None or not impostors):
        raise SpecError(f"groups = {groups!r} has no effect without impostors and a contrast", fix="Remove it.")
    if references is not None:
        references.check_images(faces)
        if not {"ref_a", "ref_b"} <= set(references.frame.columns):
            fix = "Match with MatchSpec(references=True)."
            raise TableError("The matching has no references (columns ref_a and ref_b)", fix=fix)


def _rings(faces: Images, seed: int) -> list[tuple[str, str]]:
    groups = faces.frame.sort_values("image").groupby("identity", sort=True)["image"]
    return [pair for identity, images in groups for pair in _ring(images.tolist(), str(identity), seed)]


def _ring(images: list[str], identity: str, seed: int) -> list[tuple[str, str]]:
    if len(images) < 2:
        return []
    rng = np.random.default_rng([seed, *identity.encode()])
    order = [images[index] for index in rng.permutation(len(images))]
    return list(zip(order, order[1:] + order[:1], strict=True))


def _impostors(
    faces: Images, tests: list[str], shown: Collection[str], side: pd.Series, each: int, groups: str, seed: int
) -> list[tuple[str, str]]:
    """Draw for each image other people of the wanted groups, then one valid image of each."""
    rng = np.random.default_rng([seed, 1])
    identity = faces.identities
    pools = {sign: _people(faces, shown, side, _wanted(sign, groups)) for sign in (1, -1)}
    found = []
    for image in tests:
        if side[image] == 0:
            continue
        people, images = pools[int(side[image])]
        others = people[people != identity[image]]
        for person in rng.choice(others, min(each, len(others)), replace=False):
            found.append((image, str(rng.choice(images[person]))))
    return found


def _wanted(sign: int, groups: str) -> list[int]:
    return {"within": [sign], "across": [-sign], "any": [1, -1]}[groups]


def _people(
    faces: Images, shown: Collection[str], side: pd.Series, signs: list[int]
) -> tuple[np.ndarray, dict[str, list[str]]]:
    frame = faces.frame.sort_values("image")
    frame = frame[side.loc[frame["image"]].isin(signs).to_numpy() & frame["image"].isin(shown).to_numpy()]
    images = {str(who): group.tolist() for who, group in frame.groupby("identity", sort=True)["image"]}
    return np.array(sorted(images), dtype=object), images


def _capped(pairs: list[tuple[str, str]], identities: pd.Series, most: int | None, seed: int) -> list[tuple[str, str]]:
    """Draw so many in random order: a first trial of every identity before a second of any."""
    if most is None or len(pairs) <= most:
        return pairs
    rng = np.random.default_rng([seed, 2])
    frame = pd.DataFrame(pairs, columns=["a", "b"]).iloc[rng.permutation(len(pairs))]
    turn = frame.groupby(identities.loc[frame["a"]].to_numpy()).cumcount().to_numpy()
    kept = frame.iloc[np.argsort(turn, kind="stable")[:most]].sort_index()
    return list(zip(kept["a"], kept["b"], strict=True))


def _dropped(faces: Images, frame: pd.DataFrame, ruled: Ruled | None) -> pd.DataFrame:
    """Count by reason the images that are in no trial."""
    inside = set(frame["a"]) | set(frame["b"])
    outside = [image for image in faces.keys if image not in inside]
    counts = faces.identities.value_counts()
    alone = {image: "only image of its identity" for image in outside if counts[faces.identities[image]] == 1}
    why = ruled.without if ruled else alone
    reasons = Counter(why.get(image, "beyond the cap") for image in outside)
    rows = [("all", reason, count) for reason, count in sorted(reasons.items())]
    return pd.DataFrame(rows, columns=["side", "reason", "images"])


def default_units(faces: Images, *, seed: int = 0, most: int | None = None) -> Trials:
    """Return the units on which recognizers are matched by default: all genuine trials within identities.

    Examples
    --------
    >>> import pandas as pd, likewise as lw
    >>> from likewise.design.trials import default_units
    >>> images = lw.Images(pd.DataFrame({"image": list("123"), "identity": list("aab")}))
    >>> default_units(images).keys
    ['1|2']
    """
    return trials(faces, seed=seed, genuine="all", most=most)
