"""Runs capbench, and reads its runs and datasets into pandas or polars.

The program itself is not inside: `run` starts the `capbench` on PATH, or that of the environment variable CAPBENCH.
"""

from capbench.dataset import read_dataset
from capbench.errors import (
    CapbenchError,
    DatasetError,
    PrivilegeError,
    ProgramError,
    ProgramNotFoundError,
    ResultsError,
    UnsupportedError,
    UsageError,
)
from capbench.running import command_line, run
from capbench.saved import Outcome, Run, read_run

__all__ = [
    "CapbenchError",
    "DatasetError",
    "Outcome",
    "PrivilegeError",
    "ProgramError",
    "ProgramNotFoundError",
    "ResultsError",
    "Run",
    "UnsupportedError",
    "UsageError",
    "command_line",
    "read_dataset",
    "read_run",
    "run",
]
