"""The package as a whole."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_package_has_the_version_of_the_program() -> None:
    package = tomllib.loads((ROOT / "python" / "pyproject.toml").read_text())["project"]
    program = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]
    assert (package["version"], package["license"]) == (program["version"], program["license"])
