"""Datasets: one that the tests make, laid out as `capbench export` does, and a real export if the program has it."""

import datetime
import subprocess
from pathlib import Path
from typing import Any

import polars
import pyarrow
import pytest
from pyarrow import parquet

import capbench

OLD = {"run_id": "a", "number": 1, "method": "recv", "delivered": 2**53 + 1, "app_ns_per_packet": 80.5, "noise": ["slow"]}
NEW = {**OLD, "run_id": "b", "app_ns_per_packet": None, "later": 7}


def write(directory: Path, row: dict[str, Any], campaign: str, date: str, table: str = "trials") -> None:
    folder = directory / table / "v=1" / f"campaign={campaign}" / f"date={date}"
    folder.mkdir(parents=True, exist_ok=True)
    schema = pyarrow.schema(
        [
            (
                key,
                {str: pyarrow.string(), int: pyarrow.int64(), list: pyarrow.list_(pyarrow.string())}.get(
                    type(value), pyarrow.float64()
                ),
            )
            for key, value in row.items()
        ]
    )
    parquet.write_table(
        pyarrow.Table.from_pylist([row], schema=schema), folder / f"{row['run_id']}.parquet", compression="zstd"
    )


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """Two runs: the second one has a further column and does not know a cost."""
    write(tmp_path, OLD, "2026", "2026-11-24")
    write(tmp_path, NEW, "2026w47", "2026-11-25")
    return tmp_path


def test_a_table_has_its_folders_as_columns_and_unknown_is_null(dataset: Path) -> None:
    rows = capbench.read_dataset(dataset).sort("run_id").collect()
    assert "v" not in rows.columns
    assert rows["campaign"].to_list() == ["2026", "2026w47"]
    assert rows["date"].to_list() == [datetime.date(2026, 11, 24), datetime.date(2026, 11, 25)]
    assert rows["app_ns_per_packet"].to_list() == [80.5, None]
    assert rows["later"].to_list() == [None, 7]
    assert rows["delivered"].to_list() == [2**53 + 1] * 2


def test_pandas_reads_the_same(dataset: Path) -> None:
    ours = capbench.read_dataset(dataset).sort("run_id").collect()
    theirs = capbench.read_dataset(dataset, engine="pandas").sort_values("run_id")
    assert set(theirs.columns) == set(ours.columns)
    assert list(theirs["later"].isna()) == [True, False]
    for column in ("run_id", "number", "campaign", "date", "delivered"):
        assert theirs[column].tolist() == ours[column].to_list()


def test_a_filter_by_date_leaves_out_files(dataset: Path) -> None:
    broken = dataset / "trials" / "v=1" / "campaign=2026" / "date=2026-11-24" / "a.parquet"
    late = capbench.read_dataset(dataset).filter(polars.col("date") > datetime.date(2026, 11, 24)).select("run_id")
    data = broken.read_bytes()
    # The pages of the file are damaged, not its footer: only a reader of its rows would notice.
    broken.write_bytes(data[:4] + bytes(40) + data[44:])
    assert late.collect()["run_id"].to_list() == ["b"]


def test_files_that_an_export_has_not_finished_are_no_data(dataset: Path) -> None:
    folder = dataset / "trials" / "v=1" / "campaign=2026" / "date=2026-11-24"
    (folder / ".c.parquet.tmp").write_bytes(b"PAR1")
    (folder / "c.parquet.partial").write_bytes(b"PAR1")
    assert capbench.read_dataset(dataset).collect().height == 2


def test_what_is_no_dataset_is_named(tmp_path: Path) -> None:
    with pytest.raises(capbench.DatasetError, match="capbench export RUN --to"):
        capbench.read_dataset(tmp_path)
    (tmp_path / "trials" / "v=2").mkdir(parents=True)
    with pytest.raises(capbench.DatasetError, match="it has v=2"):
        capbench.read_dataset(tmp_path)
    (tmp_path / "trials" / "v=1").mkdir()
    with pytest.raises(capbench.DatasetError, match="no Parquet files"):
        capbench.read_dataset(tmp_path)
    write(tmp_path, OLD, "none", "2026-11-24")
    with pytest.raises(ValueError, match="polars and pandas"):
        capbench.read_dataset(tmp_path, engine="spark")  # type: ignore[call-overload]


def test_a_real_export_has_the_trials_of_its_run(program: str, tmp_path: Path) -> None:
    if subprocess.run([program, "export", "--help"], check=False, capture_output=True).returncode != 0:
        pytest.skip(f"{program} has no command export")
    run = capbench.run(
        "bench", out=tmp_path / "run", quick=True, size=64, placement="same", method="recv", rate="5k", duration="50ms"
    )
    to = tmp_path / "dataset"
    subprocess.run([program, "export", run.folder, "--to", to, "--label", "campaign=c"], check=True, capture_output=True)
    trials = capbench.read_dataset(to).filter(polars.col("kept") == "result").sort("number").collect()
    assert trials["campaign"].unique().to_list() == ["c"]
    for column in ("number", "method", "intended", "delivered", "loss_ratio", "verdict"):
        assert trials[column].to_list() == run.to_polars()[column].to_list()
    ours = run.to_polars("ledger").select("number", "place", "count", "source")
    theirs = capbench.read_dataset(to, "ledger").collect().join(trials.select("run_id", "number"), on=["run_id", "number"])
    order = ["number", "place"]
    assert theirs.select(ours.columns).sort(order).rows() == ours.sort(order).rows()
    ranked = run.to_polars("rankings")
    exported = capbench.read_dataset(to, "rankings").collect()
    assert set(exported.columns) == {*ranked.columns, "run_id", "host_id", "campaign", "date"}
    assert exported.select(ranked.columns).rows() == ranked.rows()
    assert ranked["method"].to_list() == ["recv"]
