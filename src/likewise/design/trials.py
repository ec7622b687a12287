"""trials: which two images a recogniser, or people, are asked about: of one person (genuine) or of two (impostors)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
import pandas as pd

from likewise.design.reference_trials import Ruled, matched_trials, ruled_trials
from likewise.design.references import Difficulty, valid_references
from likewise.errors import SpecError, TableError, some
from likewise.tables import Contrast, Faces, Pairs

ACROSS = ("within", "across", "any")


def trials(
    faces: Faces,
    *,
    seed: int,
    impostors: int = 0,
    contrast: Contrast | None = None,
    groups: str = "within",
    references: Pairs | None = None,
    difficulty: Difficulty | None = None,
    most: int | None = None,
) -> Pairs:
    """Give every image a reference: another image of the same identity. One genuine trial an image.

    The same rule serves the whole sample and the matched one, so the two are compared like for like. Within an
    identity the images are put into a random ring and each looks to the next, so every image is a test image once
    and a reference once. The ring depends on the seed and the identity alone, not on the table's order. Images
    of people with a single image have no genuine trial; ``dropped`` counts those that are in no trial at all.

    ``impostors`` adds so many trials an image with images of other people, drawn by seed: people first, then one of
    their images, so that those with many images are not asked about more often. With a contrast they are of the same
    group ("within"), of the other one ("across"), or of either ("any"); ``stratum`` says which groups met.
    ``references`` takes the references of a matching instead: only its images are tested, each against its chosen
    reference. With ``difficulty`` (what they were chosen by) and the contrast, all other images of both groups are
    tested too, against a reference by the same rule, as difficult as one of a partner of the other group that is drawn
    by lot: the sample before matching, like for like. Strangers show images that keep the conditions on references.
    ``most`` caps the genuine trials and the impostors by a draw that keeps identities balanced.
    """
    _check(faces, impostors, contrast, groups, references, difficulty, most)
    side = contrast.side(faces) if contrast is not None else pd.Series(1, index=pd.Index(faces.images))
    ruled = _ruled(faces, references, difficulty, contrast, seed)
    genuine = ruled.genuine if ruled else _rings(faces, seed)
    tests = sorted({a for a, _ in genuine}) if ruled else sorted(faces.images)
    shown = valid_references(faces, references.spec) if references is not None and references.spec else faces.images
    strangers = _impostors(faces, tests, shown, side, impostors, groups, seed) if impostors else []
    rows = [(a, b, same) for pairs, same in ((genuine, True), (strangers, False))
            for a, b in _capped(pairs, faces.identities, most, seed)]  # fmt: skip
    frame = pd.DataFrame(rows, columns=["a", "b", "same"]).astype({"a": "str", "b": "str", "same": "bool"})
    frame.insert(0, "pair", frame["a"] + "|" + frame["b"])
    if impostors and contrast is not None:
        names = side.map({1: str(contrast.focal), -1: str(contrast.reference), 0: "neither"})
        frame["stratum"] = names.loc[frame["a"]].to_numpy() + " / " + names.loc[frame["b"]].to_numpy()
    return Pairs(frame, dropped=_dropped(faces, frame, ruled), offered={"all": len(faces)})


def _ruled(
    faces: Faces, references: Pairs | None, difficulty: Difficulty | None, contrast: Contrast | None, seed: int
) -> Ruled | None:
    """Return the trials under the rule of a matching; nothing without one."""
    if references is None:
        return None
    if difficulty is not None and contrast is not None:
        return ruled_trials(faces, references, difficulty, contrast, seed)
    own = matched_trials(references)
    others = {image: "not in the matching" for image in faces.images if image not in own}
    return Ruled(sorted(own.items()), others)


def _check(
    faces: Faces, impostors: int, contrast: Contrast | None, groups: str, references: Pairs | None,
    difficulty: Difficulty | None, most: int | None,
) -> None:  # fmt: skip
    if impostors < 0 or (most is not None and most < 1):
        raise SpecError("impostors is at least 0 and most at least 1", got=f"{impostors} and {most}")
    if groups not in ACROSS:
        raise SpecError(f"groups is one of {some(ACROSS)}", got=repr(groups))
    if difficulty is not None and (references is None or contrast is None):
        fix = "Give all three, or leave difficulty out."
        raise SpecError("difficulty goes with a matching's references and a contrast", got="not both", fix=fix)
    if contrast is not None and not impostors and difficulty is None:
        raise SpecError("a contrast has an effect only with impostors or difficulty", fix="Leave it out.")
    if groups != "within" and (contrast is None or not impostors):
        raise SpecError("groups has an effect only with impostors and a contrast", got=repr(groups))
    if references is not None:
        references.check_faces(faces)
        if not {"ref_a", "ref_b"} <= set(references.frame.columns):
            raise TableError("references are a matching's", got="pairs without ref_a and ref_b",
                             fix="Match with MatchSpec(references=True).")  # fmt: skip


def _rings(faces: Faces, seed: int) -> list[tuple[str, str]]:
    groups = faces.frame.sort_values("image").groupby("identity", sort=True)["image"]
    return [pair for identity, images in groups for pair in _ring(images.tolist(), str(identity), seed)]


def _ring(images: list[str], identity: str, seed: int) -> list[tuple[str, str]]:
    if len(images) < 2:
        return []
    rng = np.random.default_rng([seed, *identity.encode()])
    order = [images[index] for index in rng.permutation(len(images))]
    return list(zip(order, order[1:] + order[:1], strict=True))


def _impostors(
    faces: Faces, tests: list[str], shown: Collection[str], side: pd.Series, each: int, groups: str, seed: int
) -> list[tuple[str, str]]:
    """Draw for each image other people of the groups asked for, then one image of each among those that are shown."""
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
    faces: Faces, shown: Collection[str], side: pd.Series, signs: list[int]
) -> tuple[np.ndarray, dict[str, list[str]]]:
    frame = faces.frame.sort_values("image")
    frame = frame[side.loc[frame["image"]].isin(signs).to_numpy() & frame["image"].isin(shown).to_numpy()]
    images = {str(who): group.tolist() for who, group in frame.groupby("identity", sort=True)["image"]}
    return np.array(sorted(images), dtype=object), images


def _capped(pairs: list[tuple[str, str]], identities: pd.Series, most: int | None, seed: int) -> list[tuple[str, str]]:
    """Draw so many: a first trial of everybody before anybody's second, in random order."""
    if most is None or len(pairs) <= most:
        return pairs
    rng = np.random.default_rng([seed, 2])
    frame = pd.DataFrame(pairs, columns=["a", "b"]).iloc[rng.permutation(len(pairs))]
    turn = frame.groupby(identities.loc[frame["a"]].to_numpy()).cumcount().to_numpy()
    kept = frame.iloc[np.argsort(turn, kind="stable")[:most]].sort_index()
    return list(zip(kept["a"], kept["b"], strict=True))


def _dropped(faces: Faces, frame: pd.DataFrame, ruled: Ruled | None) -> pd.DataFrame:
    """Count by reason the images that are in no trial."""
    inside = set(frame["a"]) | set(frame["b"])
    outside = [image for image in faces.images if image not in inside]
    counts = faces.identities.value_counts()
    alone = {image: "only image of its identity" for image in outside if counts[faces.identities[image]] == 1}
    why = ruled.without if ruled else alone
    reasons = Counter(why.get(image, "beyond the cap") for image in outside)
    rows = [("all", reason, count) for reason, count in sorted(reasons.items())]
    return pd.DataFrame(rows, columns=["side", "reason", "images"])
