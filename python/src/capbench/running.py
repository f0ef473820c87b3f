"""Runs the program `capbench`. Keyword arguments become its flags, its exit code becomes an outcome or an exception."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from capbench.errors import PrivilegeError, ProgramError, ProgramNotFoundError, UnsupportedError, UsageError
from capbench.saved import Outcome, Run, read_run

#: A value of a flag. `True` is the flag alone, `False` and `None` leave it out, a list is separated by commas.
Scalar: TypeAlias = str | int | float | os.PathLike[str]
Flag: TypeAlias = Scalar | bool | Sequence[Scalar] | None

#: The commands that save a run.
COMMANDS = ("bench", "search", "sweep", "rfc2544", "soak", "reproduce")

_OUTCOMES = {0: Outcome.DONE, 3: Outcome.LOSS_OVER_LIMIT, 4: Outcome.INCONCLUSIVE}
_ERRORS: dict[int, type[ProgramError]] = {2: UsageError, 5: UnsupportedError, 6: PrivilegeError}


def find_program() -> str:
    """The path of the program: the environment variable CAPBENCH, else the first `capbench` on PATH."""
    name = os.environ.get("CAPBENCH") or "capbench"
    found = shutil.which(name)
    if found is None:
        source = "CAPBENCH names it" if os.environ.get("CAPBENCH") else "it is not on PATH"
        raise ProgramNotFoundError(
            f"there is no program {name} to run ({source}); install capbench, or set CAPBENCH to its path"
        )
    return found


def command_line(command: str, *arguments: str, **flags: Flag) -> list[str]:
    """The command line of a command: `max_loss=1e-6` becomes `--max-loss=1e-06`.

    A `_` at the end of a name is left out. So words of Python can be flags: `for_="8h"` becomes `--for=8h`.
    """
    words = [find_program(), command, *arguments]
    for name, value in flags.items():
        flag = "--" + name.removesuffix("_").replace("_", "-")
        if value is True:
            words.append(flag)
        elif value is not None and value is not False:
            words.append(f"{flag}={_text(value)}")
    return words


def _text(value: Scalar | Sequence[Scalar]) -> str:
    if isinstance(value, str | int | float | os.PathLike):
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    return ",".join(_text(part) for part in value)


def run(
    command: str,
    *arguments: str,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[str], object] | None = None,
    **flags: Flag,
) -> Run:
    """Runs a command that measures, waits for its end, and reads what it saved.

    `run("bench", quick=True, size=[64, 1518])` runs `capbench bench --quick --size=64,1518`.

    out: the folder of the run; without it `capbench-results/COMMAND-TIME`.
    progress: a function for each line that the program prints on standard error, such as `print`. By default nothing is
    printed.

    A loss over the limit and an inconclusive run are outcomes, not errors. A `ProgramError` says what the program could not
    do. A `KeyboardInterrupt` stops the program, which first saves its trials.
    """
    if command not in COMMANDS:
        raise ValueError(f"{command!r} saves no run; run() has {', '.join(COMMANDS)}")
    if flags.get("dry_run"):
        raise ValueError("a dry run saves no run; subprocess.run(command_line(…, dry_run=True)) prints the plan")
    folder = Path("capbench-results", f"{command}-{datetime.now(UTC):%Y-%m-%dT%H-%M-%SZ}") if out is None else Path(out)
    saved = folder / "results.json"
    before = _identity(saved)
    code, text, messages = _call(command_line(command, *arguments, out=folder, **flags), progress)
    is_saved = _identity(saved) not in (None, before)
    outcome = Outcome.STOPPED if code > 128 else _OUTCOMES.get(code)
    if outcome is None or not is_saved:
        message = "\n".join(line.removeprefix("capbench: ") for line in messages if line.startswith("capbench: "))
        message = message or f"capbench {command} ended with {_ending(code)} and without a message"
        raise _ERRORS.get(code, ProgramError)(message, code, folder if is_saved else None)
    found = read_run(folder)
    return Run(found.folder, found.results, outcome, text)


def _ending(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"


def _identity(file: Path) -> tuple[int, int] | None:
    """What changes when the file is written anew; `None` if there is none."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns


def _call(words: Sequence[str], progress: Callable[[str], object] | None) -> tuple[int, str, list[str]]:
    """The exit code, standard output, and the lines of standard error."""
    lines: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as output:
        # In a process group of its own it gets Ctrl-C once, from here. A second signal would end it before it has saved.
        program = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
            process_group=0,
        )
        try:
            assert program.stderr is not None
            for line in program.stderr:
                lines.append(line.rstrip("\n"))
                if progress is not None:
                    progress(lines[-1])
            code = program.wait()
        except BaseException:
            if program.poll() is None:
                program.send_signal(signal.SIGINT)
            program.communicate()
            raise
        output.seek(0)
        return code, output.read(), lines
