"""An audit that matches trials: the stages run in the right order and speak of trials."""

from __future__ import annotations

import likewise as lw
from likewise.audit.runner import run
from likewise.audit.stages import enabled_stages, read_plan
from likewise.runtime.progress import Quiet


def test_an_audit_matches_and_balances_trials(audit):
    path = audit / "audit.toml"
    text = path.read_text().replace("[trials]", '[units]\nkind = "trials"\n\n[trials]', 1)
    path.write_text(text if "[units]" in text else text + '\n[units]\nkind = "trials"\n')
    names = [stage.name for stage in enabled_stages(read_plan(path))]
    assert names.index("trials") < names.index("match") < names.index("balance")
    run(str(audit), reporter=Quiet())
    found = lw.Matches.read(audit / "matches.parquet")
    assert found.unit == "trial"
    assert set(found.frame["a"]) <= set(lw.Trials.read(audit / "trials.parquet").genuine().keys)
    table = lw.Estimates.read(audit / "balance.parquet").frame
    gaps = lw.Estimates.read(audit / "estimates.parquet").where(stat="gap", sample="matched").frame
    assert (gaps["n"] > 0).all()
    assert len(gaps)
    assert table["quantity"].str.endswith(" (difference)").any()


def test_an_audit_matches_impostor_trials_for_the_false_match_rate(tmp_path):
    world = lw.World(identities=60, seed=3)
    images, factors = world.draw()
    pictures, table = world.write(tmp_path / "world")
    lw.Vectors(images.keys, factors[:, 1:7].astype("float32"), source="own").write(tmp_path / "own.npz")
    found = lw.audit(
        table, pictures, out=tmp_path / "audit", vectors=tmp_path / "own.npz",
        contrast=("perceived_gender", "female", "male"), raters=["recognizer:world"], progress=False,
    )  # fmt: skip
    pairs = lw.Matches.read(tmp_path / "audit" / "impostor_matches.parquet")
    assert len(pairs) > 20
    assert "Balanced within" in pairs.note
    assert set(pairs.frame["a"]) <= set(lw.Trials.read(tmp_path / "audit" / "trials.parquet").impostors().keys)
    rates = found.estimates.where(stat="fmr", sample="matched").frame
    assert set(rates["group"]) == {"within female", "within male"}
    assert "FMR within the group, matched" in (tmp_path / "audit" / "report.html").read_text()
