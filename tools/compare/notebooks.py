"""The tidy rows of a report as notebooks read them: pandas and DuckDB.

Usage: notebooks.py FOLDER; FOLDER has tidy.csv. Prints a line for each reader, method
and place: `READER METHOD PLACE FRAMES UNKNOWN`, of the trials that stand.
"""

import pathlib
import sys

import duckdb
import pandas

folder = pathlib.Path(sys.argv[1])
print(f"pandas {pandas.__version__}, duckdb {duckdb.__version__}")


def of_pandas(reader, rows):
    stand = rows[rows["kept"] == "result"]
    for (method, place), group in stand.groupby(["method", "place"]):
        known = group["count"].dropna()
        total = sum(int(count) for count in known)
        print(reader, method, place, total, len(group) - len(known))


def of_duckdb(reader, source):
    query = f"""
        SELECT method, place, coalesce(sum("count"), 0)::HUGEINT, count(*) - count("count")
        FROM {source} WHERE kept = 'result' GROUP BY method, place
    """
    for method, place, total, unknown in duckdb.sql(query).fetchall():
        print(reader, method, place, total, unknown)


csv = folder / "tidy.csv"
of_pandas("pandas-csv", pandas.read_csv(csv, dtype={"count": "Int64"}))
of_duckdb("duckdb-csv", f"read_csv('{csv}', header = true, all_varchar = false)")
