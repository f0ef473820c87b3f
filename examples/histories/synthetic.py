"""Makes the dataset of a fleet that measures every night, with or without a change at a known date.

Its folders are those of `capbench export` (docs/dataset.md), its columns those that history.sql reads.
"""

import datetime
import random
from pathlib import Path

import duckdb

#: The set-up of all runs.
SETUP = {"method": "packet-v3", "frame_size": "64", "placement": "other", "intended_pps": 100_000.0}
FIRST = datetime.date(2026, 9, 1)

Row = tuple[str, int, str, str, datetime.date, float, float]


def rows(seed: int, change: float, at: datetime.date, dates: int, hosts: int, trials: int) -> list[Row]:
    """The trials.

    CPU time differs by up to a factor of 2 between hosts, by 1 % (standard deviation) between nights of a host, and by 3 %
    between the trials of a run. A host is missing in one of ten nights.
    """
    chance = random.Random(seed)
    costs = [80 * 2 ** chance.random() for _ in range(hosts)]
    made: list[Row] = []
    for date in (FIRST + datetime.timedelta(days=day) for day in range(dates)):
        is_changed = change != 0 and date >= at
        for host, cost in enumerate(costs):
            night = cost * chance.gauss(1, 0.01) * (1 + change * is_changed)
            if chance.random() < 0.1:
                continue
            for number in range(1, trials + 1):
                app, kernel = (night * factor * chance.gauss(1, 0.03) for factor in (1, 9))
                kernel_release = "6.18.2" if is_changed else "6.18.1"
                made.append((f"{date}-{host}", number, f"host-{host}", kernel_release, date, app, kernel))
    return made


def make(
    directory: Path, seed: int, change: float, at: datetime.date, dates: int = 60, hosts: int = 8, trials: int = 5
) -> None:
    """A dataset in which CPU time grows by the share `change` from the date `at` on, on every host."""
    columns = [list(column) for column in zip(*rows(seed, change, at, dates, hosts, trials), strict=True)]
    names = ("run_id", "number", "host_id", "kernel_release", "date", "app_ns_per_packet", "kernel_ns_per_packet")
    parameters = dict(zip(names, columns, strict=True))
    folder = directory / "trials" / "v=1"
    folder.mkdir(parents=True)
    duckdb.execute(
        f"""
        COPY (
          SELECT {", ".join(f"unnest(${name}) AS {name}" for name in names)},
                 'result' AS kept, 'lossless' AS verdict, 'synthetic' AS campaign,
                 {", ".join(f"${name} AS {name}" for name in SETUP)}
        ) TO '{folder}' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (campaign, date), OVERWRITE)
        """,
        {**parameters, **SETUP},
    )
