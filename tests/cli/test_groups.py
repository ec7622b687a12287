"""likewise groups and [groups]: the groups of an audit, printed, as JSON and in the report."""

from __future__ import annotations

import json

import pandas as pd

from scored_audit import scored_audit
from shell import run


def test_groups_are_printed_written_and_reported(tmp_path, capsys):
    done = scored_audit(tmp_path, groups="perceived_gender+eyeglasses")
    page = done.report().read_text(encoding="utf-8")
    assert "Groups and intersections" in page and "By perceived gender × eyeglasses" in page
    assert "female, eyeglasses 1" in page and "FNMR at FMR" in page
    by_both = done.estimates.where(stat="group_difference", sample="by perceived_gender x eyeglasses").frame
    differ = int(((by_both["low"] > 0) | (by_both["high"] < 0)).sum())
    tables = page.partition("By perceived gender × eyeglasses")[2].partition("<h3>By ")[0]
    bold = [line for line in tables.splitlines() if 'class="n strong"' in line]
    assert len(bold) == differ < len(by_both)
    asked = ("groups", done.folder, "--by", "perceived_gender", "--by", "eyeglasses")
    code, out, _ = run(capsys, *asked, "--reference", "male, eyeglasses 0", "--csv", tmp_path / "groups.csv")
    assert code == 0 and "to male, eyeglasses 0" in out and "highest - lowest" in out
    written = pd.read_csv(tmp_path / "groups.csv")
    code, out, _ = run(capsys, *asked, "--json")
    rows = json.loads(out)
    assert code == 0 and {row["stat"] for row in rows} >= {"group_rate", "group_mean", "group_difference"}
    differences = [
        sum(row["stat"] == "group_difference" for row in found) for found in (rows, written.to_dict("records"))
    ]
    assert differences[0] * 3 == differences[1] * 4  # four groups: to the overall value all four, to one of them three


def test_bad_groups_are_refused(tmp_path, capsys):
    done = scored_audit(tmp_path)
    code, _, err = run(capsys, "groups", done.folder, "--by", "gender")
    assert code == 2 and "gender" in err
    code, _, err = run(capsys, "groups", done.folder, "--by", "perceived_gender", "--reference", "women")
    assert code == 2 and "Unknown reference group 'women'" in err
    with (done.folder / "audit.toml").open("a", encoding="utf-8") as plan:
        plan.write('\n[groups]\nby = ["perceived_gender"]\nreference = "women"\n')
    code, out, _ = run(capsys, "check", done.folder)
    assert code == 2 and "Unknown reference group 'women'" in out
