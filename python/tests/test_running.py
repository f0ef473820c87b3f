"""Running the program: a stand-in for exit codes and signals, and the real one if there is one."""

import csv
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import capbench
import samples

STAND_IN = """#!{python}
import json, os, pathlib, signal, sys, time
here = pathlib.Path(__file__).parent
out = next(pathlib.Path(word[6:]) for word in sys.argv if word.startswith("--out="))
(here / "words").write_text(json.dumps(sys.argv[1:]))
print("the verdict")
print("capbench: a message", file=sys.stderr, flush=True)
plan = json.loads((here / "plan").read_text())
def save(*_):
    out.mkdir(parents=True, exist_ok=True)
    (out / "results.json").write_text((here / "results").read_text())
if plan["waits"]:
    def stop(*_):
        save()
        sys.exit(130)
    signal.signal(signal.SIGINT, stop)
    print("ready", file=sys.stderr, flush=True)
    signal.pause()
if plan["saves"]:
    save()
if plan["code"] < 0:
    os.kill(os.getpid(), -plan["code"])
sys.exit(plan["code"])
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "capbench"
    file.write_text(STAND_IN.format(python=sys.executable))
    file.chmod(0o755)
    (tmp_path / "results").write_text(json.dumps(samples.results()))
    monkeypatch.setenv("CAPBENCH", str(file))
    monkeypatch.chdir(tmp_path)
    plan(tmp_path, 0)
    return tmp_path


def plan(folder: Path, code: int, *, saves: bool = True, waits: bool = False) -> None:
    (folder / "plan").write_text(json.dumps({"code": code, "saves": saves, "waits": waits}))


def words(folder: Path) -> list[str]:
    said: list[str] = json.loads((folder / "words").read_text())
    return said


def test_keyword_arguments_become_flags(folder: Path) -> None:
    capbench.run(
        "soak", "extra", out=folder / "run", quick=True, size=[64, 1518], for_="8h", max_loss=1e-6, work=None, json=False
    )
    assert words(folder) == [
        "soak",
        "extra",
        f"--out={folder}/run",
        "--quick",
        "--size=64,1518",
        "--for=8h",
        "--max-loss=1e-06",
    ]


def test_nothing_is_printed_unless_it_is_asked_for(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = capbench.run("bench", out=folder / "run")
    assert capfd.readouterr() == ("", "")
    assert run.text == "the verdict\n"
    lines: list[str] = []
    capbench.run("bench", out=folder / "run", progress=lines.append)
    assert lines == ["capbench: a message"]


def test_a_run_without_a_folder_gets_one(folder: Path) -> None:
    run = capbench.run("bench")
    assert run.folder.parent == Path("capbench-results")
    assert run.folder.name.startswith("bench-")


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, capbench.Outcome.DONE),
        (3, capbench.Outcome.LOSS_OVER_LIMIT),
        (4, capbench.Outcome.INCONCLUSIVE),
        (143, capbench.Outcome.STOPPED),
    ],
)
def test_what_a_run_shows_is_no_error(code: int, outcome: capbench.Outcome, folder: Path) -> None:
    plan(folder, code)
    run = capbench.run("bench", out=folder / "run")
    assert run.outcome is outcome
    assert len(run.trials) == 2


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (1, capbench.ProgramError),
        (2, capbench.UsageError),
        (5, capbench.UnsupportedError),
        (6, capbench.PrivilegeError),
        (-9, capbench.ProgramError),
    ],
)
def test_what_the_program_cannot_do_is_an_error(code: int, error: type[capbench.ProgramError], folder: Path) -> None:
    plan(folder, code, saves=False)
    with pytest.raises(error, match="a message") as caught:
        capbench.run("bench", out=folder / "run")
    assert type(caught.value) is error
    assert caught.value.exit_code == code
    assert caught.value.folder is None


def test_what_was_measured_before_an_error_is_named(folder: Path) -> None:
    plan(folder, 5)
    with pytest.raises(capbench.UnsupportedError) as caught:
        capbench.run("bench", out=folder / "run")
    assert caught.value.folder is not None
    assert len(capbench.read_run(caught.value.folder).trials) == 2


def test_older_results_in_the_folder_are_not_those_of_this_run(folder: Path) -> None:
    capbench.run("bench", out=folder / "run")
    plan(folder, 2, saves=False)
    with pytest.raises(capbench.UsageError) as caught:
        capbench.run("bench", out=folder / "run")
    assert caught.value.folder is None


def test_an_interrupt_lets_the_program_save(folder: Path) -> None:
    plan(folder, 0, waits=True)

    def interrupt(line: str) -> None:
        if line == "ready":
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        capbench.run("bench", out=folder / "run", progress=interrupt)
    assert len(capbench.read_run(folder / "run").trials) == 2


def test_a_command_that_saves_no_run_is_refused() -> None:
    with pytest.raises(ValueError, match="bench, search"):
        capbench.run("count")
    with pytest.raises(ValueError, match="dry run"):
        capbench.run("bench", dry_run=True)


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CAPBENCH", str(tmp_path / "none"))
    with pytest.raises(capbench.ProgramNotFoundError, match="CAPBENCH names it"):
        capbench.run("bench")
    monkeypatch.delenv("CAPBENCH")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="not on PATH"):
        capbench.run("bench")


def test_a_real_run_has_the_frames_of_its_tidy_rows(program: str, tmp_path: Path) -> None:
    """What `capbench report` writes of a run is what this package reads of it."""
    run = capbench.run(
        "bench",
        out=tmp_path / "run",
        quick=True,
        size=64,
        placement="same",
        method=["packet-v3", "recv"],
        rate="5k",
        duration="50ms",
        quiet="50ms",
    )
    assert run.outcome in (capbench.Outcome.DONE, capbench.Outcome.INCONCLUSIVE)
    assert run.text
    subprocess.run(
        [program, "report", run.folder, "--format", "csv", "--out", tmp_path / "csv"], check=True, capture_output=True
    )
    with (tmp_path / "csv" / "tidy.csv").open() as file:
        tidy = [row for row in csv.DictReader(file) if row["kept"] == "result"]
    ours = [
        (str(row["number"]), row["place"], "" if row["count"] is None else str(row["count"]), row["source"])
        for row in run.ledger
    ]
    assert ours == [(row["number"], row["place"], row["count"], row["source"]) for row in tidy]
    for trial in run.trials:
        counts = [row["count"] for row in run.ledger if row["number"] == trial["number"]]
        if None not in counts:
            assert sum(count or 0 for count in counts) == trial["intended"]


def test_a_real_mistake_is_a_usage_error(program: str, tmp_path: Path) -> None:
    with pytest.raises(capbench.UsageError, match="packet-v9"):
        capbench.run("bench", method="packet-v9", out=tmp_path / "run")
