"""What can go wrong, one class a cause. All derive from `CapbenchError`."""

from pathlib import Path


class CapbenchError(Exception):
    """The base class of all errors of this package."""


class ResultsError(CapbenchError):
    """Saved results cannot be read."""


class DatasetError(CapbenchError):
    """A dataset cannot be read."""


class ProgramNotFoundError(CapbenchError, FileNotFoundError):
    """There is no program `capbench` to run."""


class ProgramError(CapbenchError):
    """The program ended with an error. The message is what it printed on standard error."""

    def __init__(self, message: str, exit_code: int, folder: Path | None = None) -> None:
        super().__init__(message)
        #: The exit code. A negative number is the signal that killed the program.
        self.exit_code = exit_code
        #: The folder of the results that were saved before the error, for `read_run`. `None`: nothing was saved.
        self.folder = folder


class UsageError(ProgramError):
    """The program does not accept a flag or a value (exit code 2)."""


class UnsupportedError(ProgramError):
    """Something does not run on this host (exit code 5)."""


class PrivilegeError(ProgramError):
    """The user lacks a privilege (exit code 6). The message names it."""
