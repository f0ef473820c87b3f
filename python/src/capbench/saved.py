"""A saved run: `results.json` with its types, and its tables."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, cast

from capbench import tables
from capbench.errors import ResultsError
from capbench.results import Environment, Finding, Results, SearchOutcome, TrialResult
from capbench.tables import LedgerRow, RankingRow, Table

if TYPE_CHECKING:
    import pandas
    import polars

#: The version of the results files that this package reads.
SCHEMA_VERSION = 1


class Outcome(StrEnum):
    """How a run ended, by the exit code of the program."""

    #: Everything is done (exit code 0).
    DONE = "done"
    #: More was lost than the stated limit (exit code 3).
    LOSS_OVER_LIMIT = "loss_over_limit"
    #: The trials do not answer the question: the generator was the limit, or the host disturbed them (exit code 4).
    INCONCLUSIVE = "inconclusive"
    #: A signal stopped the run. The trials until then are saved (exit code 128 + signal).
    STOPPED = "stopped"


@dataclass(frozen=True)
class Run:
    """A saved run. Keys that are absent or `None` are unknown. They are not 0."""

    #: The folder of the run.
    folder: Path
    #: `results.json`. docs/results.schema.json describes each key.
    results: Results = field(repr=False)
    #: How the run ended; `None` if `read_run` read it: the files do not contain the exit code.
    outcome: Outcome | None = None
    #: What the program printed: the verdict and the tables; `None` if `read_run` read the run.
    text: str | None = field(default=None, repr=False)

    @property
    def trials(self) -> list[TrialResult]:
        """The trials, in the order in which they ran."""
        return self.results["trials"]

    @property
    def ledger(self) -> list[LedgerRow]:
        """A row for each trial and place. The known counts of a trial add up to its intended frames."""
        return tables.ledger(self.results)

    @property
    def searches(self) -> list[SearchOutcome]:
        """The searches; empty if the run has none."""
        return self.results.get("searches", [])

    @property
    def rankings(self) -> list[RankingRow]:
        """A row for each method of a bench's rankings, the best first; empty if the run has none."""
        return tables.rankings(self.results)

    @property
    def answers(self) -> list[Finding]:
        """What answers the run's question, the verdict first; empty for runs of earlier versions."""
        return self.results.get("answers", [])

    @property
    def findings(self) -> list[Finding]:
        """What else the run shows: sentences, each with its fact and the numbers of its trials."""
        return self.results.get("findings", [])

    @property
    def caveats(self) -> list[Finding]:
        """How noisy the run is, and what could not be measured; empty for runs of earlier versions."""
        return self.results.get("caveats", [])

    @property
    def environment(self) -> Environment:
        """The host."""
        return self.results["environment"]

    def to_pandas(self, table: Table = "trials") -> pandas.DataFrame:
        """A table of the run as a DataFrame of pandas with types of Arrow: unknown is `NA`."""
        return tables.to_pandas(self.results, table)

    def to_polars(self, table: Table = "trials") -> polars.DataFrame:
        """A table of the run as a DataFrame of polars: unknown is `null`."""
        return tables.to_polars(self.results, table)


def read_run(path: str | os.PathLike[str]) -> Run:
    """Reads a saved run: its folder, or its `results.json`."""
    file = Path(path)
    if file.is_dir():
        file = file / "results.json"
    try:
        with file.open(encoding="utf-8") as text:
            results = json.load(text)
    except OSError as error:
        raise ResultsError(f"{file}: cannot read the results: {error.strerror}") from error
    except ValueError as error:
        raise ResultsError(
            f"{file}: not a whole results file ({error}); `capbench report {file}` shows what is left of it"
        ) from error
    check(file, results)
    return Run(file.parent, cast(Results, results))


def check(file: Path, results: object) -> None:
    """Raises an error if this is no results file of a known version."""
    version = results.get("schema_version") if isinstance(results, dict) else None
    if version is None:
        raise ResultsError(f"{file}: not a results file of capbench: it has no schema_version")
    if version != SCHEMA_VERSION:
        raise ResultsError(
            f"{file}: schema_version {version}; this package reads version {SCHEMA_VERSION}: install the package that "
            "belongs to the capbench that wrote the file"
        )
    missing: Sequence[str] = [key for key in ("trials", "environment") if key not in cast(dict[str, object], results)]
    if missing:
        raise ResultsError(f"{file}: the results lack {' and '.join(missing)}")
