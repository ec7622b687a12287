"""Excel, Hugging Face datasets, MLflow, Weights & Biases: each with the real package and its local store."""

from __future__ import annotations

import io
import re

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

import likewise as lw
from likewise.audit.adapters.excel import write_excel
from likewise.audit.adapters.huggingface import dataset_from_table, images_from_dataset
from likewise.audit.adapters.tracking import log_to_mlflow, log_to_wandb, metrics_of, parameters_of
from likewise.cli.main import main
from likewise.errors import TableError


@pytest.fixture(scope="module")
def audit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapters")
    images, _ = lw.World(identities=40, seed=4).draw()
    pairs = lw.trials(images, seed=0, impostors=6).frame
    score = np.where(pairs["same"], 0.8, 0.3) + np.random.default_rng(0).normal(0, 0.1, len(pairs))
    scored = pairs[["a", "b"]].assign(score=score)
    return lw.scores({"@vendor": scored}, images.frame, out=folder / "audit", progress=False)


def test_excel_has_one_sheet_a_table(audit):
    main(["export", str(audit.folder), "--excel", "--quiet"])
    book = openpyxl.load_workbook(audit.folder / "export.xlsx")
    assert book.sheetnames == ["estimates", "balance", "matches", "trials", "images", "ratings"]
    read = pd.read_excel(audit.folder / "export.xlsx", sheet_name="estimates")
    assert np.allclose(read["estimate"], audit.estimates.frame["estimate"], equal_nan=True)


def test_text_never_becomes_a_formula(audit, tmp_path):
    book = openpyxl.load_workbook(write_excel(audit, tmp_path / "x.xlsx"))
    cells = [cell for row in book["ratings"].iter_rows() for cell in row]
    assert "'@vendor" in {cell.value for cell in cells}
    assert not any(cell.data_type == "f" for cell in cells)


def test_metrics_have_names_that_stores_accept(audit):
    found = metrics_of(audit)
    assert len(found) > 50
    assert all(np.isfinite(value) for value in found.values())
    assert all(re.fullmatch(r"[\w. /-]+", name) for name in found)
    assert re.fullmatch(r"[0-9a-f]{64}", parameters_of(audit)["plan_sha256"])


def picture(shade: int) -> dict[str, object]:
    held = io.BytesIO()
    Image.fromarray(np.full((8, 8, 3), shade, np.uint8)).save(held, "PNG")
    return {"bytes": held.getvalue(), "path": None}


def test_datasets_go_in_and_out(audit, tmp_path):
    import datasets

    features = datasets.Features({
        "photo": datasets.Image(), "who": datasets.Value("int64"), "gender": datasets.ClassLabel(names=["f", "m"])
    })  # fmt: skip
    columns = {"photo": [picture(shade) for shade in (10, 20, 30)], "who": [1, 1, 2], "gender": [0, 0, 1]}
    held = datasets.table.InMemoryTable(pa.Table.from_pydict(columns, schema=features.arrow_schema))
    made = datasets.Dataset(held, info=datasets.DatasetInfo(features=features), fingerprint="test")
    images, folder = images_from_dataset(
        made, tmp_path / "p", image="photo", identity="who", rename={"gender": "perceived_gender"}
    )  # fmt: skip
    assert images.frame["perceived_gender"].tolist() == ["f", "f", "m"]
    assert np.asarray(Image.open(folder / "000001.png"))[0, 0, 0] == 20
    assert dataset_from_table(audit.estimates).num_rows == len(audit.estimates)
    with pytest.raises(TableError, match="no column 'person'"):
        images_from_dataset(made, tmp_path / "q", image="photo", identity="person")


def test_mlflow_logs_to_its_local_store(audit, tmp_path, monkeypatch):
    import mlflow

    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    run = mlflow.get_run(log_to_mlflow(audit))
    assert run.data.params["title"] == "Audit of scores"
    name, value = next(iter(metrics_of(audit).items()))
    assert run.data.metrics[name] == pytest.approx(value)
    assert list((tmp_path / "runs").rglob("report.html"))
    assert not list((tmp_path / "runs").rglob("ratings.parquet"))


def test_wandb_logs_offline(audit, tmp_path):
    place = log_to_wandb(audit, mode="offline", dir=str(tmp_path))
    assert list(tmp_path.rglob("*.wandb"))
    assert place.startswith(str(tmp_path))
