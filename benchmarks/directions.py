"""What the shipped directions rest on and what they do.

    python benchmarks/directions.py labels            # against people's labels (needs LIKEWISE_DATA)
    python benchmarks/directions.py moves --faces 20  # what a step of one standard deviation does to every label
    python benchmarks/directions.py moves --hold --directions FILE   # the same of others than the shipped ones

``labels`` looks at photographs of the CelebA-HQ subset, half of them with the attribute as people labeled it.
``moves`` draws faces that the fit has not seen, moves each by -1 and +1 standard deviations along a direction (others
held with --hold) and has the same networks describe them again.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import roc_auc_score

from likewise.data.describe import Describer
from likewise.data.describe_spec import DescribeSpec
from likewise.latents.directions import Directions, shipped
from likewise.latents.sampled import drawn
from likewise.latents.traverse import moved
from likewise.models.detectors.detected_faces import detect_faces
from likewise.models.perception.glasses import WORN, worn_share
from likewise.models.perception.segmentation import Segmenter
from likewise.runtime.cpu import keep_freed_memory
from likewise.runtime.pixels import ImageFolder
from likewise.runtime.registry import Pictures, create

DATA = Path(os.environ.get("LIKEWISE_DATA", Path(__file__).parents[2] / "shared" / "data"))
MAIN = ("predicted_gender", "predicted_age", "predicted_smile", "predicted_eyeglasses", "predicted_yaw", "measured_ita")


def balanced(column: str, each: int) -> tuple[Pictures, np.ndarray]:
    """Return photographs, ``each`` with and without an attribute, and the label."""
    faces = pd.read_parquet(DATA / "celebahq" / "faces.parquet").set_index("image")
    rows = faces.loc[pd.read_csv(DATA / "celebahq" / "subset.csv")["image"]].reset_index()
    with_, without = rows[rows[column] > 0], rows[rows[column] <= 0]
    both = pd.concat([part.sample(min(each, len(part)), random_state=0) for part in (with_, without)])
    album = ImageFolder((DATA / "celebahq" / "images").resolve(), {name: name for name in both["image"]})
    return album(list(both["image"]), size=256), (both[column] > 0).to_numpy()


def labels(each: int) -> None:
    """Compare what describe says of eyeglasses and smiles with people's labels."""
    pictures, worn = balanced("Eyeglasses", each)
    seen, classes = detect_faces(pictures), Segmenter().classes(pictures)
    share = np.array(
        [np.nan if face is None else worn_share(c, face, seen.scheme, pictures.shape[1:3])
         for c, face in zip(classes, seen.faces, strict=True)]
    )  # fmt: skip
    found = np.isfinite(share)
    said = share[found] >= WORN
    print(f"eyeglasses: n {found.sum()}, AUC {roc_auc_score(worn[found], share[found]):.3f}, "
          f"found {said[worn[found]].mean():.3f}, false {said[~worn[found]].mean():.3f}")  # fmt: skip
    pictures, smiling = balanced("Smiling", each)
    happy = Describer(DescribeSpec(columns=("predicted_smile",)))(pictures)["predicted_smile"]
    found = np.isfinite(happy)
    print(f"smile: n {found.sum()}, AUC {roc_auc_score(smiling[found], happy[found]):.3f}")


def moves(faces: int, hold: bool, file: str) -> None:
    """Print the change of every label, in its standard deviations over faces, for a step from -1 to +1."""
    generator = create("generator", "mobilestylegan")
    directions = Directions.read(file) if file else shipped("mobilestylegan")
    describer = Describer(DescribeSpec(columns=MAIN))
    w = np.repeat(generator.sample_w(faces, 987_654)[:, None], generator.rows, axis=1)
    spread = _numbers(describer(drawn(generator, w, 256))).std()
    rows = {}
    for name in MAIN:
        step = directions.step(name, hold=[other for other in MAIN if other != name] if hold else [])
        before, after = (_numbers(describer(drawn(generator, part, 256))) for part in moved(w, step, (-1, 1)))
        rows[name] = ((after - before) / spread).mean()
    table = pd.DataFrame(rows).T  # a row a direction, a column a label
    own = pd.Series(np.diag(table), index=table.index)
    rest = (table.abs().sum(axis=1) - own.abs()) / (len(table) - 1)
    print(table.assign(others=rest, share=rest / own.abs()).to_string(float_format="{:+.3f}".format))
    print("others: the mean change of all other labels, either way; share: of the direction's own label's change")


def _numbers(columns: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return columns as numbers: words as 1 for male and yes, empty where nothing was said."""
    words = {"male": 1.0, "female": 0.0, "yes": 1.0, "no": 0.0, "": np.nan}
    return pd.DataFrame({k: [words[x] for x in v] if v.dtype.kind == "U" else v for k, v in columns.items()})


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("labels", "moves"))
    parser.add_argument("--faces", type=int, default=100)
    parser.add_argument("--hold", action="store_true", help="hold the scores of all the others")
    parser.add_argument("--directions", default="", help="a file of directions; default: the shipped ones")
    given = parser.parse_args()
    keep_freed_memory()
    if given.what == "labels":
        labels(given.faces)
    else:
        moves(given.faces, given.hold, given.directions)


if __name__ == "__main__":
    main()
