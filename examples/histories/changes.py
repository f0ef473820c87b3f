"""Finds when the cost of a packet changed, by two programs that use different mathematics: Apache Otava and jumpavg.

python examples/histories/changes.py DATASET --method packet-v3 --frame-size 64 --placement other --intended-pps 100000

Writes history.csv and prints for each program the dates on which a new level begins. Needs duckdb, apache-otava and jumpavg.
Exit code 0: both name the same dates. 4: they do not agree, or the history is too short.
"""

import argparse
import csv
import json
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import duckdb
import jumpavg

HERE = Path(__file__).parent
#: Changes of the mean below this share are not named: a new level of jumpavg can be a new spread around the same mean.
SMALLEST = 0.01

#: A shorter history shows nothing.
FEWEST_DATES = 10

#: The date of a change, and its share of the level before.
Changes = list[tuple[str, float]]


def write_history(dataset: Path, setup: dict[str, object], file: Path) -> int:
    """Writes the history of a set-up as CSV. Returns the number of its dates."""
    with duckdb.connect() as connection:
        for name, value in {"dataset": str(dataset), **setup}.items():
            connection.execute(f"SET VARIABLE {name} = ?", [value])
        history = connection.sql((HERE / "history.sql").read_text())
        history.write_csv(str(file))
        return len(history)


def changes_of_otava(folder: Path, metrics: Iterable[str], config: Path = HERE / "otava.yaml") -> dict[str, Changes]:
    """The changes of those of these metrics of folder/history.csv that have any, by `otava analyze`."""
    otava = Path(sys.executable).with_name("otava")
    flags = ["--config-file", str(config.resolve()), "--output", "json", "--magnitude", str(SMALLEST)]
    flags += ["--metrics", ",".join(metrics)]
    done = subprocess.run([otava, "analyze", "capbench", *flags], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not done.stdout.strip():
        raise SystemExit(f"otava failed:\n{done.stderr}")
    found: dict[str, Changes] = {}
    for point in json.loads(done.stdout)["capbench"]:
        for change in point["changes"]:
            share = float(change["mean_after"]) / float(change["mean_before"]) - 1
            found.setdefault(change["metric"], []).append((_date(change["time"]), share))
    return found


def _date(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def changes_of_jumpavg(dates: list[str], values: list[float]) -> Changes:
    """The changes of a metric, by jumpavg."""
    groups = list(jumpavg.classify(values))
    found: Changes = []
    start = 0
    for before, after in pairwise(groups):
        start += len(before.run_list)
        share = after.stats.avg / before.stats.avg - 1
        if abs(share) >= SMALLEST:
            found.append((dates[start], share))
    return found


def read_history(file: Path) -> tuple[list[str], dict[str, list[float]], list[str]]:
    """The dates, the metrics of a history, and the names of those that are unknown on some date."""
    with file.open() as text:
        rows = list(csv.DictReader(text))
    names = [name for name in rows[0] if name.endswith("_percent")]
    unknown = [name for name in names if not all(row[name] for row in rows)]
    metrics = {name: [float(row[name]) for row in rows] for name in names if name not in unknown}
    return [row["time"] for row in rows], metrics, unknown


def _say(changes: Changes) -> str:
    return ", ".join(f"{date} ({share:+.1%})" for date, share in changes) or "none"


def main() -> int:
    """The command line."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("dataset", type=Path)
    flags.add_argument("--method", required=True)
    flags.add_argument("--frame-size", required=True)
    flags.add_argument("--placement", required=True)
    flags.add_argument("--intended-pps", required=True, type=float)
    flags.add_argument("--out", type=Path, default=Path(), help="folder of history.csv [.]")
    setup = vars(flags.parse_args())
    dataset, out = setup.pop("dataset"), setup.pop("out")
    out.mkdir(parents=True, exist_ok=True)
    number = write_history(dataset, setup, out / "history.csv")
    if number == 0:
        raise SystemExit(
            f"{dataset}: no trial has this set-up; `SELECT DISTINCT method, frame_size, placement, intended_pps` lists them"
        )
    if number < FEWEST_DATES:
        print(f"The history has {number} of at least {FEWEST_DATES} dates: wait for more nights.")
        return 4
    dates, metrics, unknown = read_history(out / "history.csv")
    print(f"{number} dates from {dates[0]} to {dates[-1]}")
    for metric in unknown:
        print(f"{metric}: unknown on some dates, so it is left out")
    by_otava = changes_of_otava(out, metrics) if metrics else {}
    agree = True
    for metric, values in metrics.items():
        theirs = by_otava.get(metric, []), changes_of_jumpavg(dates, values)
        print(f"{metric}:")
        for name, changes in zip(("Otava", "jumpavg"), theirs, strict=True):
            print(f"  {name:8} {_say(changes)}")
        agree = agree and [date for date, _ in theirs[0]] == [date for date, _ in theirs[1]]
    if not metrics:
        return 4
    print("Both name the same dates." if agree else "The two do not name the same dates: wait for more nights.")
    return 0 if agree else 4


if __name__ == "__main__":
    sys.exit(main())
