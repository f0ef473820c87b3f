"""Saved runs, and their tables."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest

import capbench
import samples
from capbench import tables


def test_a_run_is_read_from_its_folder_or_its_file(saved: Path) -> None:
    for path in (saved, saved / "results.json", str(saved)):
        run = capbench.read_run(path)
        assert run.folder == saved
        assert [trial["number"] for trial in run.trials] == [1, 2]
        assert run.environment["kernel_release"] == "x"
        assert run.searches[0]["goals"]
        assert run.findings[0]["text"] == "x"
        assert run.outcome is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "`capbench report"),
        ("[]", "no schema_version"),
        ('{"schema_version": 2}', "reads version 1"),
        ('{"schema_version": 1, "trials": []}', "lack environment"),
    ],
)
def test_what_is_no_whole_results_file_is_refused(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "results.json"
    file.write_text(text)
    with pytest.raises(capbench.ResultsError, match=said) as error:
        capbench.read_run(tmp_path)
    assert str(file) in str(error.value)


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(capbench.ResultsError, match="No such file"):
        capbench.read_run(tmp_path)


def test_unknown_keys_of_newer_versions_stay(saved: Path) -> None:
    newer = {**samples.results(), "later": 1}
    (saved / "results.json").write_text(json.dumps(newer))
    assert dict(capbench.read_run(saved).results)["later"] == 1


def test_the_known_counts_of_a_trial_are_rows_of_the_ledger(saved: Path) -> None:
    run = capbench.read_run(saved)
    entries = run.trials[0]["ledger"]
    rows = [row for row in run.ledger if row["number"] == 1]
    assert [row["place"] for row in rows] == [*(entry["place"] for entry in entries), "delivered", "unexplained"]
    assert sum(row["count"] or 0 for row in rows) == len(entries) + 2


def ranked(method: str, rank: int = 1) -> dict[str, Any]:
    sustained = {"status": "unknown", "trials": []}
    return {
        "method": method,
        "rank": rank,
        "lossless": {**sustained, "lower_pps": 5e5},
        "nearly_lossless": sustained,
        "trials": 6,
        "disturbed": 0,
    }


def in_turns(method: str, relation: dict[str, Any], is_decided: bool, **more: Any) -> dict[str, Any]:
    captured = {"median": 0.9, "low": 0.8, "high": 0.95, "level": 0.98, "repeats": 6}
    known = {"method": method, "rounds": 6, "captured": captured, "relation": relation, "is_decided": is_decided}
    return {**known, **more}


def test_a_row_of_a_ranking_has_what_turns_show_of_its_method(saved: Path) -> None:
    multiple = {"middle": 3.0, "low": 2.5, "high": 4.0}
    below = {"is": "below", "by": "cost", "factor": multiple}
    recv_in_turns = in_turns("recv", below, True, relative_cost=multiple)
    turns = {
        "load_pps": 1e6,
        "rounds": 6,
        "judged_rounds": 6,
        "methods": [
            in_turns("packet-v3", {"is": "first"}, False),
            recv_in_turns,
        ],
    }
    ranking = {
        "frame_size": 64,
        "placement": "same",
        "work": "none",
        "turns": turns,
        "methods": [ranked("packet-v3"), {**ranked("recv", 2), "below": "certain"}, ranked("xdp-count")],
        "conclusion": {"answer": "one_of", "best": "packet-v3", "methods": [], "worse": [], "settle": []},
    }
    results = samples.results()
    results["recommended"] = {"question": {"what": "highest_rate"}, "rankings": [ranking]}
    (saved / "results.json").write_text(json.dumps(results))
    run = capbench.read_run(saved)
    first, recv, count = run.rankings
    assert (first["place"], first["method"], first["is_named"], first["certainty"]) == (1, "packet-v3", True, None)
    assert (first["relation"], first["is_decided"], first["relative_cost"]) == ("first", False, None)
    assert (first["captured_ratio"], first["captured_ratio_low"]) == (0.9, 0.8)
    assert (recv["relation"], recv["below_by"], recv["is_decided"], recv["below"]) == ("below", "cost", True, "certain")
    assert (recv["may_be_better"], recv["asked_pps"]) == (None, None)
    assert (recv["relative_cost"], recv["relative_cost_low"], recv["relative_captured"]) == (3.0, 2.5, None)
    assert (count["turns_load_pps"], count["is_decided"], count["captured_ratio"]) == (None, None, None)
    assert run.to_polars("rankings")["turns_load_pps"].to_list() == [1e6, 1e6, None]
    # What is open may be better, or only as good.
    recv_in_turns["relation"] = {"is": "open", "may_be_better": True}
    results["recommended"]["question"] = {"what": "cheapest_at", "pps": 2e4}
    (saved / "results.json").write_text(json.dumps(results))
    recv = capbench.read_run(saved).rankings[1]
    assert (recv["may_be_better"], recv["below_by"], recv["asked_pps"]) == (True, None, 2e4)
    recv_in_turns["relation"] = below
    # Too few rounds show nothing.
    turns["judged_rounds"] = 0
    (saved / "results.json").write_text(json.dumps(results))
    assert capbench.read_run(saved).rankings[0]["relation"] is None
    del results["recommended"]
    (saved / "results.json").write_text(json.dumps(results))
    assert capbench.read_run(saved).rankings == []


@pytest.mark.parametrize("table", ["trials", "ledger", "searches", "rankings", "findings"])
def test_both_libraries_have_the_same_rows(table: tables.Table, saved: Path) -> None:
    run = capbench.read_run(saved)
    ours = run.to_polars(table)
    theirs = run.to_pandas(table)
    assert ours.columns == list(theirs.columns)
    assert ours.rows() == [tuple(_plain(value) for value in row) for row in theirs.itertuples(index=False, name=None)]
    assert ours.height > 0


def _plain(value: object) -> object:
    """A value of pandas as polars has it."""
    import pandas

    if isinstance(value, list) or hasattr(value, "tolist"):
        return list(value)  # type: ignore[call-overload]
    return None if value is pandas.NA else value


def test_unknown_is_not_zero(saved: Path) -> None:
    run = capbench.read_run(saved)
    trials = run.to_polars()
    assert trials["clock_error_ns"].to_list() == [1, None]
    assert trials["cpu.app_ns_per_packet"].to_list()[1] is None
    assert list(run.to_pandas()["clock_error_ns"].isna()) == [False, True]


def test_counts_stay_exact(saved: Path) -> None:
    large = 2**53 + 1
    results = samples.results()
    results["trials"][0]["delivered"] = large
    (saved / "results.json").write_text(json.dumps(results))
    run = capbench.read_run(saved)
    assert run.to_polars()["delivered"][0] == large
    assert run.to_pandas()["delivered"][0] == large


def test_every_run_has_the_same_columns(saved: Path) -> None:
    full = capbench.read_run(saved).to_polars()
    results = samples.results()
    results["trials"] = []
    del results["searches"]
    (saved / "results.json").write_text(json.dumps(results))
    empty = capbench.read_run(saved)
    assert empty.to_polars().schema == full.schema
    assert empty.to_polars("searches").height == 0
    assert list(empty.to_pandas().columns) == full.columns
    assert full.schema["loss_ratio"] == polars.Float64


def test_there_is_no_other_table(saved: Path) -> None:
    with pytest.raises(ValueError, match="trials, ledger, searches, rankings and findings"):
        capbench.read_run(saved).to_polars("places")  # type: ignore[arg-type]


def test_neither_library_is_imported_unless_it_is_asked_for(saved: Path) -> None:
    code = (
        f"import capbench, sys; capbench.read_run({str(saved)!r}).ledger;"
        "print({'pandas', 'polars', 'pyarrow'} & {*sys.modules})"
    )
    source = Path(capbench.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONPATH": str(source)}
    )
    assert done.stdout == "set()\n"
