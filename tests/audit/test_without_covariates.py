"""An audit of a table that names nothing but image, identity and group reaches its report."""

import pandas as pd

import likewise as lw
from likewise.cli.main import main


def test_an_audit_without_covariates_compares_the_space_and_reaches_its_report(tmp_path):
    pictures, table = lw.World(identities=16, seed=5).write(tmp_path / "photos")
    frame = pd.read_csv(table)[["image", "identity", "perceived_gender"]]
    frame.columns = ["file", "who", "sx"]
    frame.to_csv(tmp_path / "people.csv", index=False)
    folder = tmp_path / "audit"
    given = ["--images", str(pictures), "--table", str(tmp_path / "people.csv"), "--image-column", "file"]
    groups = ["--identity", "who", "--protected", "sx", "--focal", "female", "--reference", "male"]
    main(["init", str(folder), *given, *groups, "--generator", "world", "--rater", "recognizer:world", "--no-times"])
    main(["run", str(folder)])
    compared = lw.Estimates.read(folder / "balance.parquet").where(stat="smd").frame["quantity"]
    assert compared.str.startswith("score").all()
    assert (folder / "report.html").is_file()
