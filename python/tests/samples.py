"""Results made of docs/results.schema.json: of each type the smallest and the largest instance."""

import json
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

ROOT: Schema = json.loads((Path(__file__).parents[2] / "docs" / "results.schema.json").read_text())
DEFINITIONS: dict[str, Schema] = {**ROOT["$defs"], "Results": ROOT}


def alternatives(schema: Schema) -> list[Schema]:
    """The alternatives of a schema, each with the keys that all have; itself if there are none."""
    # An alternative can be another definition: a text, or what a program reports.
    if "$ref" in schema:
        return alternatives(DEFINITIONS[schema["$ref"].removeprefix("#/$defs/")])
    parts = schema.get("oneOf") or schema.get("anyOf")
    if parts is None:
        return [schema]
    common = schema.get("properties", {})
    # An alternative can have alternatives itself: facts by their subject, and each subject's by what they say.
    return [
        {
            **part,
            "properties": {**common, **part.get("properties", {})},
            "required": [*schema.get("required", []), *part.get("required", [])],
        }
        for whole in parts
        for part in alternatives(whole)
    ]


class Endless(Exception):
    """An instance would hold an instance of its own type, and so on."""


def instances(schema: Schema, everything: bool, within: tuple[str, ...] = ()) -> list[Any]:
    """An instance of each alternative: with every key, or with the required ones and without lists.

    Numbers are 1, texts are `x`. In itself a type has the required keys: a trial can have probes, which are trials. In
    that one it has an alternative that does not need the type again: a statement can be about a statement.
    """
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        if within.count(name) > 1:
            raise Endless(name)
        return instances(DEFINITIONS[name], everything and name not in within, (*within, name))
    if "oneOf" in schema or "anyOf" in schema:
        made = []
        for part in alternatives(schema):
            try:
                made += instances(part, everything, within)
            except Endless:
                continue
        return sorted(made, key=lambda each: (each is None) == everything)
    if "const" in schema:
        return [schema["const"]]
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    match kinds[0] if everything else kinds[-1]:
        case "object":
            return [_object(schema, everything, within)]
        case "array":
            # A pair has the same item twice.
            items = instances(schema["items"], everything, within) if everything or "minItems" in schema else []
            return [items[:1] * schema.get("minItems", 0) or items]
        case kind:
            return [{"integer": 1, "number": 1.5, "string": "x", "boolean": True, "null": None}[kind]]


def _object(schema: Schema, everything: bool, within: tuple[str, ...]) -> dict[str, Any]:
    made = {}
    for key, value in schema.get("properties", {}).items():
        if (everything or key in schema.get("required", [])) and (found := instances(value, everything, within)):
            made[key] = found[0]
    values = schema.get("additionalProperties")
    return {**made, "x": instances(values, everything, within)[0]} if everything and isinstance(values, dict) else made


def results() -> dict[str, Any]:
    """A results file of two trials: one with every key, one with the required keys only."""
    made: dict[str, Any] = instances(ROOT, everything=True, within=("Results",))[0]
    small = instances(DEFINITIONS["TrialResult"], everything=False)[0]
    made["trials"] = [{**made["trials"][0], "number": 1}, {**small, "number": 2}]
    return made
