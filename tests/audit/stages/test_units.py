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
