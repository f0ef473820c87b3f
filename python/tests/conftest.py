"""Fixtures of several tests."""

import json
import os
import shutil
from pathlib import Path

import pytest

import samples


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The folder of a run with the trials of `samples.results`."""
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "results.json").write_text(json.dumps(samples.results()))
    return folder


@pytest.fixture
def program() -> str:
    """The real program."""
    found = shutil.which(os.environ.get("CAPBENCH") or "capbench")
    if found is None:
        pytest.skip("there is no program capbench: set CAPBENCH, or build it")
    return found
