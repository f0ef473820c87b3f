"""The types are those of docs/results.schema.json."""

import sys
import types
from pathlib import Path
from typing import Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

import jsonschema
import pytest
from pydantic import TypeAdapter

import samples
from capbench import results


def records_of(hint: Any) -> list[Any]:
    """The record that a type is, or those of its alternatives."""
    return [hint] if is_typeddict(hint) else [record for part in get_args(hint) for record in records_of(part)]


def hints_of(record: Any) -> dict[str, Any]:
    """The types of its keys, with a mark of those that can be absent."""
    return get_type_hints(record, include_extras=True)


@pytest.fixture(scope="session")
def checkable() -> types.ModuleType:
    """The same types for pydantic, which needs the TypedDict of typing_extensions before Python 3.12."""
    text = Path(results.__file__).read_text()
    module = types.ModuleType("checkable")
    sys.modules["checkable"] = module
    exec(text.replace("from typing import", "from typing_extensions import"), module.__dict__)
    return module


@pytest.mark.parametrize("name", sorted(samples.DEFINITIONS))
def test_every_key_of_the_schema_has_a_type(name: str) -> None:
    remedy = "the schema has grown: python/check write-types"
    objects = [each for each in samples.alternatives(samples.DEFINITIONS[name]) if each.get("properties")]
    assert hasattr(results, name), remedy
    records = records_of(getattr(results, name))
    assert len(records) == len(objects), remedy
    made = []
    for hints in map(hints_of, records):
        made.append((set(hints), {key for key, hint in hints.items() if get_origin(hint) is not NotRequired}))
    for schema in objects:
        keys, required = set(schema["properties"]), set(schema["required"])
        assert (keys, required) in made, f"{sorted(keys)}, required {sorted(required)}: {remedy}"


# A run, and the types of which a run has only one of several.
UNIONS = [name for name in samples.DEFINITIONS if len(records_of(getattr(results, name, None))) > 1]


@pytest.mark.parametrize("everything", [True, False])
@pytest.mark.parametrize("name", ["Results", *UNIONS])
def test_the_types_accept_what_the_schema_accepts(name: str, everything: bool, checkable: types.ModuleType) -> None:
    for instance in samples.instances(samples.DEFINITIONS[name], everything):
        schema = {**samples.DEFINITIONS[name], "$defs": samples.ROOT["$defs"]}
        jsonschema.Draft202012Validator(schema).validate(instance)
        TypeAdapter(getattr(checkable, name)).validate_python(instance, strict=True)


def test_a_wrong_type_is_refused(checkable: types.ModuleType) -> None:
    wrong = samples.results()
    wrong["trials"][0]["delivered"] = "many"
    with pytest.raises(ValueError, match="delivered"):
        TypeAdapter(checkable.Results).validate_python(wrong, strict=True)
