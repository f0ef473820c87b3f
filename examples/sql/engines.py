"""Do all engines read the same frames from a dataset, and are they those of results.json?

Usage: engines.py DATASET [--results FOLDER] [--run FILE.sql] [--engine NAME]...

Runs sums.sql, or another file, on each engine that is installed: duckdb, datafusion, polars, chdb (PyPI), and pyspark by
spark.py. Prints the rows of each engine; exit code 1 if two engines differ, or if they differ from the results.json files
below FOLDER.
"""

import argparse
import importlib.util
import json
import pathlib
import re
import sys

TABLES = ["trials", "ledger", "searches", "rankings", "hosts"]
HERE = pathlib.Path(__file__).parent


def tables_in(sql):
    """The tables that a query reads. Datasets of older versions lack some."""
    return [table for table in TABLES if re.search(rf"\b{table}\b", sql)]


def duckdb(dataset, sql):
    """The rows of a query by DuckDB."""
    import duckdb

    for table in tables_in(sql):
        files = f"{dataset}/{table}/**/*.parquet"
        duckdb.sql(
            f"CREATE OR REPLACE VIEW {table} AS "
            f"SELECT * FROM read_parquet('{files}', hive_partitioning = true, union_by_name = true)"
        )
    return duckdb.sql(sql).fetchall()


def datafusion(dataset, sql):
    """The rows of a query by DataFusion."""
    from datafusion import SessionContext

    context = SessionContext()
    partitions = [("v", "int"), ("campaign", "string"), ("date", "string")]
    import pyarrow

    kinds = {"int": pyarrow.int32(), "string": pyarrow.string()}
    for table in tables_in(sql):
        columns = [(name, kinds[kind]) for name, kind in partitions]
        context.register_parquet(table, f"{dataset}/{table}", table_partition_cols=columns)
    batches = context.sql(sql).collect()
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def polars(dataset, sql):
    """The rows of a query by Polars."""
    import polars

    tables = tables_in(sql)
    frames = {table: polars.scan_parquet(f"{dataset}/{table}/**/*.parquet", hive_partitioning=True) for table in tables}
    return polars.SQLContext(frames=frames).execute(sql, eager=True).rows()


def chdb(dataset, sql):
    """The rows of a query by ClickHouse (chDB)."""
    from chdb.session import Session

    session = Session()
    session.query("CREATE DATABASE IF NOT EXISTS capbench")
    for table in tables_in(sql):
        session.query(f"CREATE VIEW capbench.{table} AS SELECT * FROM file('{dataset}/{table}/**/*.parquet', Parquet)")
    settings = "SETTINGS join_use_nulls = 1, prefer_column_name_to_alias = 1"
    text = "\n".join(line for line in sql.splitlines() if not line.startswith("--"))
    session.query("USE capbench")
    answer = session.query(f"{text} {settings}", "JSONCompact")
    return [tuple(row) for row in json.loads(str(answer))["data"]]


def spark(dataset, sql):
    """The rows of a query by Spark."""
    import importlib

    sys.path.insert(0, str(HERE))
    return importlib.import_module("spark").rows(dataset, sql)


ENGINES = {"duckdb": duckdb, "datafusion": datafusion, "polars": polars, "chdb": chdb, "pyspark": spark}


def of_results(folder):
    """The same sums from results.json, which no engine has read."""
    frames, unknown = {}, {}
    for file in sorted(pathlib.Path(folder).rglob("results.json")):
        try:
            results = json.loads(file.read_text())
        except json.JSONDecodeError as error:
            print(f"{file}: left out, as `export` does: {error}")
            continue
        for trial in results["trials"]:
            booked = [("intended", trial["intended"]), ("sent", trial["sent"]), ("received", trial["delivered"])]
            booked += [(entry["place"], entry["count"]) for entry in trial["ledger"]]
            booked += [("delivered", trial["delivered"]), ("unexplained", trial["unexplained"])]
            for place, count in booked:
                frames[place] = frames.get(place, 0) + (count or 0)
                unknown[place] = unknown.get(place, 0) + (count is None)
    return sorted((place, frames[place], unknown[place]) for place in frames)


def plain(rows):
    """Numbers of different types that are equal, in one form."""

    def value(field):
        if isinstance(field, bool) or field is None or isinstance(field, str):
            # Some engines print large numbers as text.
            return int(field) if isinstance(field, str) and field.lstrip("-").isdigit() else field
        number = float(field) if not isinstance(field, int) and not hasattr(field, "isoformat") else field
        if hasattr(number, "isoformat"):
            return number.isoformat()
        return int(number) if float(number).is_integer() else round(float(number), 4)

    return [tuple(value(field) for field in row) for row in rows]


def main():
    """Reads the command line and compares the engines."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("dataset", type=lambda path: str(pathlib.Path(path).resolve()))
    flags.add_argument("--results", help="folder with the results.json files that were exported")
    flags.add_argument("--run", default=str(HERE / "sums.sql"), help="SQL file; sums.sql")
    flags.add_argument("--engine", action="append", choices=ENGINES, help="only this engine; can be repeated")
    flags = flags.parse_args()
    sql = pathlib.Path(flags.run).read_text()
    answers = {}
    for name in flags.engine or ENGINES:
        if importlib.util.find_spec(name) is None:
            print(f"{name}: not installed")
            continue
        answers[name] = plain(ENGINES[name](flags.dataset, sql))
        print(f"{name} {getattr(importlib.import_module(name), '__version__', '')}: {len(answers[name])} rows")
    if flags.results:
        answers["results.json"] = plain(of_results(flags.results))
        print(f"results.json: {len(answers['results.json'])} rows")
    if not answers:
        sys.exit("no engine is installed: pip install duckdb")
    (first, expected), *others = answers.items()
    for row in expected:
        print(*row, sep="\t")
    wrong = [name for name, rows in others if rows != expected]
    for name in wrong:
        for mine, theirs in zip(expected, answers[name], strict=False):
            if mine != theirs:
                print(f"{first} {mine}\n{name} {theirs}", file=sys.stderr)
    if wrong:
        sys.exit(f"{', '.join(wrong)}: not the rows of {first}")
    print(f"{len(answers)} answers are the same")


if __name__ == "__main__":
    main()
