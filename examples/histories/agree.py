"""Checks that Apache Otava and jumpavg name the same date of a change, and how often each alarms without a change.

python examples/histories/agree.py [--histories 100]

Exit code 0: in the first history both name the date of a change of 3 %, and neither alarms in more than 5 % of the histories
without a change. Needs duckdb, apache-otava and jumpavg.
"""

import argparse
import csv
import datetime
import sys
import tempfile
from pathlib import Path

import changes
import synthetic

CHANGE = 0.03
#: Share of the histories without a change in which a program may name one.
FALSE_ALARMS = 0.05

History = tuple[list[str], list[float]]


def history(folder: Path, seed: int, change: float, at: datetime.date) -> History:
    """The dates and the CPU time of a synthetic fleet, through a dataset."""
    dataset = folder / f"dataset-{seed}-{change}"
    synthetic.make(dataset, seed, change, at)
    file = dataset / "history.csv"
    changes.write_history(dataset, dict(synthetic.SETUP), file)
    dates, metrics, _ = changes.read_history(file)
    return dates, metrics["app_percent"]


def named(folder: Path, histories: list[History]) -> list[tuple[list[str], list[str]]]:
    """The dates that Otava and jumpavg name in each history. Otava reads them as columns of one file: it starts slowly."""
    names = [f"history_{index}" for index in range(len(histories))]
    folder.mkdir()
    with (folder / "history.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["time", *names])
        rows.writerows(zip(histories[0][0], *(values for _, values in histories), strict=True))
    config = folder / "otava.yaml"
    metrics = ", ".join(names)
    config.write_text(f"tests: {{capbench: {{type: csv, file: history.csv, time_column: time, metrics: [{metrics}]}}}}\n")
    by_otava = changes.changes_of_otava(folder, names, config)
    return [
        (_dates(by_otava.get(name, [])), _dates(changes.changes_of_jumpavg(dates, values)))
        for name, (dates, values) in zip(names, histories, strict=True)
    ]


def _dates(found: changes.Changes) -> list[str]:
    return [date for date, _ in found]


def main() -> int:
    """The command line."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--histories", type=int, default=100, help="histories of each kind [100]")
    count = flags.parse_args().histories
    seeds = range(1, count + 1)
    # In the first and the last ten nights of 60 there are too few samples on one side.
    dates = [synthetic.FIRST + datetime.timedelta(days=10 + 7 * seed % 41) for seed in seeds]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with_change = named(folder / "b", [history(folder, seed, CHANGE, at) for seed, at in zip(seeds, dates, strict=True)])
        without = named(folder / "a", [history(folder, seed, 0, dates[0]) for seed in seeds])
    known = [at.isoformat() for at in dates]
    otava, jump = with_change[0]
    print(f"{CHANGE:.0%} more CPU time from {known[0]} on: Otava names {', '.join(otava)}; jumpavg names {', '.join(jump)}.")
    print(f"Of {count} histories with such a change, on a date that differs:")
    both_right = sum(pair == ([at], [at]) for pair, at in zip(with_change, known, strict=True))
    for name, index in (("Otava", 0), ("jumpavg", 1)):
        right = sum(pair[index] == [at] for pair, at in zip(with_change, known, strict=True))
        near = sum(
            len(pair[index]) == 1 and abs((datetime.date.fromisoformat(pair[index][0]) - at).days) <= 1
            for pair, at in zip(with_change, dates, strict=True)
        )
        print(f"  {name:8} names the date in {right}, it or a neighbour in {near}")
    print(f"  both     name the same dates in {sum(one == two for one, two in with_change)}, the right one in {both_right}")
    alarms = [sum(bool(pair[index]) for pair in without) for index in (0, 1)]
    together = sum(bool(one and two) for one, two in without)
    print(f"Of {count} histories without a change: Otava alarms in {alarms[0]}, jumpavg in {alarms[1]}, both in {together}.")
    is_right = otava == jump == known[:1] and max(alarms) <= FALSE_ALARMS * count
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
