"""The tables of a run. The types of results files define the columns: the tables of all runs have the same ones."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints, is_typeddict

from capbench.results import (
    Conclusion,
    Finding,
    GoalResult,
    InTurns,
    Multiple,
    Question,
    Ranked,
    Ranking,
    Results,
    SearchOutcome,
    SizeLabel,
    TrialResult,
    Turns,
)

if TYPE_CHECKING:
    import pandas
    import polars

#: The tables: a row is a trial, a place of a trial, a goal of a search, a method of a ranking, or a finding.
Table = Literal["trials", "ledger", "searches", "rankings", "findings"]

Record = Mapping[str, Any]


class LedgerRow(TypedDict):
    """The frames of a trial at one place."""

    #: The trial.
    number: int
    method: str
    frame_size: SizeLabel
    placement: str
    work: str
    #: The place, `delivered` or `unexplained`.
    place: str
    #: Number of frames; `None` if no counter reports it.
    count: int | None
    #: The counter, or why there is none.
    source: str


def ledger(results: Results) -> list[LedgerRow]:
    """The rows of all trials, as `tidy.csv` of `capbench report` has them."""
    return [
        LedgerRow(
            number=trial["number"],
            method=trial["method"],
            frame_size=trial["frame_size"],
            placement=trial["placement"],
            work=trial["work"],
            place=place,
            count=count,
            source=source,
        )
        for trial in results["trials"]
        for place, count, source in _places(trial)
    ]


def _places(trial: TrialResult) -> Iterator[tuple[str, int | None, str]]:
    for entry in trial["ledger"]:
        yield entry["place"], entry["count"], entry["source"]
    yield "delivered", trial["delivered"], "the application, frame by frame"
    yield "unexplained", trial["unexplained"], "sent, less delivered and what places have"


class RankingRow(TypedDict):
    """A method of a ranking, with the names of the table `rankings` of a dataset.

    From `is_decided` on it has what trials in turns show, relative to the first method. `None` without such trials.
    """

    frame_size: SizeLabel
    placement: str
    work: str
    #: The place in the ranking, from 1: the best first.
    place: int
    method: str
    #: Methods with the same rank are not distinguished.
    rank: int
    #: How certain it is that the method is worse than those of the first rank; `None` of these.
    below: str | None
    #: What follows from the ranking: `use`, `one_of`, `none_lossless`, `not_sent` or `nothing`.
    answer: str
    #: Whether the answer names this method.
    is_named: bool
    #: How certain it is that no method is better than the named one.
    certainty: str | None
    lossless_lower_pps: float | None
    lossless_upper_pps: float | None
    #: The load that was asked for; `None` if it was the highest rate.
    asked_pps: float | None
    #: Whether it is known how the method compares with the first one; of the first, that no other one is better.
    is_decided: bool | None
    turns_load_pps: float | None
    turns_rounds: int | None
    #: `first`, `equal`, `below` or `open`.
    relation: str | None
    #: The figure by which it is worse: `loss`, `cost` or `application_cost`.
    below_by: str | None
    #: Whether it may be better than the first one; `None` if the relation is known.
    may_be_better: bool | None
    #: Share of what it was sent that it captured, with its interval; of the intended frames where it slows the sender.
    captured_ratio: float | None
    captured_ratio_low: float | None
    captured_ratio_high: float | None
    #: The same as a multiple of that of the first method.
    relative_captured: float | None
    relative_captured_low: float | None
    relative_captured_high: float | None
    #: CPU time per packet as a multiple of that of the first method.
    relative_cost: float | None
    relative_cost_low: float | None
    relative_cost_high: float | None


def rankings(results: Results) -> list[RankingRow]:
    """The rows of all rankings."""
    rows = []
    recommended = results.get("recommended")
    if recommended is None:
        return []
    for ranking in recommended["rankings"]:
        for place, ranked in enumerate(ranking["methods"], start=1):
            rows.append(_ranking_row(recommended["question"], ranking, place, ranked))
    return rows


def _ranking_row(question: Question, ranking: Ranking, place: int, ranked: Ranked) -> RankingRow:
    turns = ranking.get("turns")
    found = _in_turns(turns, ranked["method"])
    captured = found.get("captured") if found else None
    relation = found["relation"] if found else None
    share: Multiple | None = found.get("relative_captured") if found else None
    cost: Multiple | None = found.get("relative_cost") if found else None
    conclusion = ranking["conclusion"]
    return RankingRow(
        frame_size=ranking["frame_size"],
        placement=ranking["placement"],
        work=ranking["work"],
        place=place,
        method=ranked["method"],
        rank=ranked["rank"],
        below=ranked.get("below"),
        answer=conclusion["answer"],
        is_named=_named(conclusion) == ranked["method"],
        certainty=conclusion["certainty"] if conclusion["answer"] == "use" else None,
        lossless_lower_pps=ranked["lossless"].get("lower_pps"),
        lossless_upper_pps=ranked["lossless"].get("upper_pps"),
        asked_pps=question["pps"] if question["what"] == "cheapest_at" else None,
        is_decided=found.get("is_decided") if found else None,
        turns_load_pps=turns["load_pps"] if turns and found else None,
        turns_rounds=found["rounds"] if found else None,
        relation=relation["is"] if relation else None,
        below_by=relation["by"] if relation and relation["is"] == "below" else None,
        may_be_better=relation["may_be_better"] if relation and relation["is"] == "open" else None,
        captured_ratio=captured["median"] if captured else None,
        captured_ratio_low=captured.get("low") if captured else None,
        captured_ratio_high=captured.get("high") if captured else None,
        relative_captured=share["middle"] if share else None,
        relative_captured_low=share.get("low") if share else None,
        relative_captured_high=share.get("high") if share else None,
        relative_cost=cost["middle"] if cost else None,
        relative_cost_low=cost.get("low") if cost else None,
        relative_cost_high=cost.get("high") if cost else None,
    )


def _in_turns(turns: Turns | None, method: str) -> InTurns | None:
    """What trials in turns show of a method, if there were enough rounds to judge."""
    if turns is None or turns["judged_rounds"] == 0:
        return None
    return next((found for found in turns["methods"] if found["method"] == method), None)


def _named(conclusion: Conclusion) -> str | None:
    """The method that the conclusion names."""
    if conclusion["answer"] == "use":
        return conclusion["method"]
    if conclusion["answer"] == "one_of" or conclusion["answer"] == "none_lossless":
        return conclusion.get("best")
    return None


class Kind(Enum):
    """The type of a column."""

    TEXT = auto()
    COUNT = auto()
    NUMBER = auto()
    FLAG = auto()
    TEXTS = auto()
    COUNTS = auto()


@dataclass(frozen=True)
class Column:
    """A column: where its value is in a record."""

    keys: tuple[str, ...]
    kind: Kind

    @property
    def name(self) -> str:
        """The keys of results.json, with a dot between them."""
        return ".".join(self.keys)

    def value(self, record: Record) -> Any:
        """The value in this record; `None` if it is unknown."""
        found: Any = record
        for key in self.keys:
            found = found.get(key)
            if found is None:
                return None
        return _CONVERSIONS[self.kind](found)


_CONVERSIONS: dict[Kind, Callable[[Any], Any]] = {
    Kind.TEXT: str,
    Kind.COUNT: int,
    Kind.NUMBER: float,
    Kind.FLAG: bool,
    Kind.TEXTS: list,
    Kind.COUNTS: list,
}


@cache
def columns(record: type) -> tuple[Column, ...]:
    """The columns of a type: its numbers and texts, and those of the records in it.

    Lists of records, maps, and records of several kinds are no columns.
    """
    return tuple(_columns(record, ()))


def _columns(record: type, above: tuple[str, ...]) -> Iterator[Column]:
    for key, hint in get_type_hints(record).items():
        keys = (*above, key)
        alternatives = [each for each in _alternatives(hint) if each is not types.NoneType]
        if len(alternatives) == 1 and is_typeddict(alternatives[0]):
            yield from _columns(alternatives[0], keys)
        elif (kind := _kind(alternatives)) is not None:
            yield Column(keys, kind)


def _alternatives(hint: Any) -> list[Any]:
    """The types of a union; of a list of words the type of the words."""
    if get_origin(hint) in (Union, types.UnionType):
        return [each for part in get_args(hint) for each in _alternatives(part)]
    return [type(word) for word in get_args(hint)] if get_origin(hint) is Literal else [hint]


def _kind(alternatives: Iterable[Any]) -> Kind | None:
    simple = {
        frozenset({str}): Kind.TEXT,
        # A frame size, or the name of a mix of sizes.
        frozenset({int, str}): Kind.TEXT,
        frozenset({int}): Kind.COUNT,
        frozenset({float}): Kind.NUMBER,
        frozenset({bool}): Kind.FLAG,
        frozenset({list[str]}): Kind.TEXTS,
        frozenset({list[int]}): Kind.COUNTS,
    }
    return simple.get(frozenset(alternatives))


def _rows(results: Results, table: Table) -> tuple[tuple[Column, ...], list[Record]]:
    """The columns and the records of a table."""
    match table:
        case "trials":
            return columns(TrialResult), list(results["trials"])
        case "ledger":
            return columns(LedgerRow), list(ledger(results))
        case "rankings":
            return columns(RankingRow), list(rankings(results))
        case "findings":
            return columns(Finding), list(results.get("findings", []))
        case "searches":
            of_search = tuple(column for column in columns(SearchOutcome) if len(column.keys) == 1)
            goals = tuple(column for column in columns(GoalResult))
            rows = [{**search, **goal} for search in results.get("searches", []) for goal in search["goals"]]
            return (*of_search, *goals), list(rows)
    raise ValueError(f"there is no table {table!r}; the tables are trials, ledger, searches, rankings and findings")


def _values(results: Results, table: Table) -> Iterator[tuple[Column, list[Any]]]:
    found, records = _rows(results, table)
    for column in found:
        yield column, [column.value(record) for record in records]


def to_pandas(results: Results, table: Table) -> pandas.DataFrame:
    """A table with types of Arrow: unknown is `NA`, and a count stays an integer."""
    import pandas
    import pyarrow

    types_of_arrow = {
        Kind.TEXT: pyarrow.string(),
        Kind.COUNT: pyarrow.int64(),
        Kind.NUMBER: pyarrow.float64(),
        Kind.FLAG: pyarrow.bool_(),
        Kind.TEXTS: pyarrow.list_(pyarrow.string()),
        Kind.COUNTS: pyarrow.list_(pyarrow.int64()),
    }
    return pandas.DataFrame(
        {
            column.name: pandas.Series(values, dtype=pandas.ArrowDtype(types_of_arrow[column.kind]))
            for column, values in _values(results, table)
        }
    )


def to_polars(results: Results, table: Table) -> polars.DataFrame:
    """A table: unknown is `null`."""
    import polars

    types_of_polars = {
        Kind.TEXT: polars.String(),
        Kind.COUNT: polars.Int64(),
        Kind.NUMBER: polars.Float64(),
        Kind.FLAG: polars.Boolean(),
        Kind.TEXTS: polars.List(polars.String()),
        Kind.COUNTS: polars.List(polars.Int64()),
    }
    return polars.DataFrame(
        [polars.Series(column.name, values, types_of_polars[column.kind]) for column, values in _values(results, table)]
    )
