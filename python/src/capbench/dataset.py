"""Reads a dataset that `capbench export` wrote: Hive-partitioned Parquet, described in docs/dataset.md."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from capbench.errors import DatasetError

if TYPE_CHECKING:
    import pandas
    import polars

#: The version of the tables that this package reads: the folder `v=1`. A higher one means that columns have another meaning.
VERSION = 1

#: The tables of a dataset.
DatasetTable = Literal["trials", "ledger", "searches", "rankings", "hosts"]


@overload
def read_dataset(
    directory: str | os.PathLike[str], table: DatasetTable = ..., engine: Literal["polars"] = ...
) -> polars.LazyFrame: ...


@overload
def read_dataset(
    directory: str | os.PathLike[str], table: DatasetTable = ..., *, engine: Literal["pandas"]
) -> pandas.DataFrame: ...


def read_dataset(
    directory: str | os.PathLike[str], table: DatasetTable = "trials", engine: Literal["polars", "pandas"] = "polars"
) -> polars.LazyFrame | pandas.DataFrame:
    """Reads a table of a dataset, with `campaign` and `date` of the folders as columns. Unknown is `null`, in pandas `NA`.

    engine: `polars` reads lazily, so that a filter by date leaves out files; `pandas` reads the whole table.

    Files of older versions of capbench can lack columns. These are unknown there.
    """
    files = _files(Path(directory), table)
    match engine:
        case "polars":
            return _with_polars(files)
        case "pandas":
            return _with_pandas(files)
    raise ValueError(f"there is no engine {engine!r}; the engines are polars and pandas")


def _files(directory: Path, table: str) -> list[Path]:
    folder = directory / table / f"v={VERSION}"
    if not folder.is_dir():
        others = sorted(other.name for other in (directory / table).glob("v=*"))
        found = f"it has {', '.join(others)}" if others else f"the folder {directory / table} is not there or is empty"
        raise DatasetError(
            f"{directory}: no table {table} of version {VERSION}: {found}; `capbench export RUN --to {directory}` writes one"
        )
    # Other names are files that an export has not finished.
    files = sorted(folder.glob("campaign=*/date=*/*.parquet"))
    if not files:
        raise DatasetError(f"{folder}: no Parquet files; `capbench export RUN --to {directory}` writes them")
    return files


def _with_polars(files: list[Path]) -> polars.LazyFrame:
    import polars

    schema: dict[str, polars.DataType] = {}
    for file in files:
        schema = polars.read_parquet_schema(file) | schema
    parts = {"v": polars.Int64(), "campaign": polars.String(), "date": polars.Date()}
    return polars.scan_parquet(
        files,
        schema=schema,
        hive_partitioning=True,
        hive_schema=parts,
        missing_columns="insert",
        extra_columns="ignore",
    ).drop("v")


def _with_pandas(files: list[Path]) -> pandas.DataFrame:
    import pandas
    import pyarrow
    from pyarrow import dataset, parquet

    fields = [("v", pyarrow.int64()), ("campaign", pyarrow.string()), ("date", pyarrow.date32())]
    parts = dataset.partitioning(pyarrow.schema(fields), flavor="hive")
    schema = pyarrow.unify_schemas([*(parquet.read_schema(file) for file in files), parts.schema])
    table = dataset.dataset([str(file) for file in files], schema=schema, partitioning=parts).to_table()
    frame: pandas.DataFrame = table.drop_columns(["v"]).to_pandas(types_mapper=pandas.ArrowDtype)
    return frame
