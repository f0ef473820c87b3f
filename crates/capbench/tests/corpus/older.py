#!/usr/bin/env python3
"""Makes the groups `older` and `damaged` of the corpus from whole runs.

    tests/corpus/older.py FOLDER-OF-RUNS OUT

FOLDER-OF-RUNS has results files, NAME.json. OUT/older/ gets each as the versions of COMMITS would have written it: without the
members that docs/results.schema.json did not have then, and with the names of places that it had. OUT/damaged/ gets each cut
off, damaged, and with members that no version has. Add both to the corpus as data/README.md says.
"""

import json
import pathlib
import subprocess
import sys

# Versions of the schema: its first one, and those after larger changes.
COMMITS = ["8cc26529", "f0ac553d", "81404572", "01d869f9", "1be4f186", "278c399f", "5a1cdf40", "65b2a27d"]
# Places by their names now, and earlier.
PLACES = {
    "link_queue": "queue",
    "fill_ring": "fill",
    "method_queue": "method",
    "application_queue": "app",
    "truncated": "cut",
    "corrupt": "damage",
}


def schema_of(commit):
    return json.loads(subprocess.check_output(["git", "show", f"{commit}:docs/results.schema.json"]))


def alternatives(node, definitions):
    """The object and list schemas that a node can be."""
    while "$ref" in node:
        node = definitions.get(node["$ref"].rsplit("/", 1)[1], {})
    found = []
    if any(key in node for key in ("properties", "items", "enum", "const", "additionalProperties")):
        found.append(node)
    for key in ("anyOf", "oneOf", "allOf"):
        for part in node.get(key, []):
            found += alternatives(part, definitions)
    return found


def words(nodes):
    known = set()
    for node in nodes:
        known |= {word for word in node.get("enum", []) if isinstance(word, str)}
        if isinstance(node.get("const"), str):
            known.add(node["const"])
    return known


def older(value, nodes, definitions):
    """A value without the members that these schemas do not know."""
    if isinstance(value, dict):
        properties = {}
        is_open = not nodes
        for node in nodes:
            is_open = is_open or bool(node.get("additionalProperties"))
            for name, child in node.get("properties", {}).items():
                properties.setdefault(name, []).extend(alternatives(child, definitions))
        if not properties:
            return value
        kept = {}
        for name, member in value.items():
            if name in properties:
                kept[name] = older(member, properties[name], definitions)
            elif is_open:
                kept[name] = member
        return kept
    if isinstance(value, list):
        items = []
        for node in nodes:
            if isinstance(node.get("items"), dict):
                items += alternatives(node["items"], definitions)
        return [older(entry, items, definitions) for entry in value]
    if isinstance(value, str):
        known = words(nodes)
        earlier = PLACES.get(value)
        if known and value not in known and earlier in known:
            return earlier
    return value


def damaged(name, text):
    """Cut off and damaged copies of a file, by their names."""
    for share in (0.25, 0.6, 0.95):
        yield f"{name}-cut-{int(share * 100)}", text[: int(len(text) * share)]
    middle = len(text) // 2
    yield f"{name}-zeros", text[:middle] + "\0" * 512 + text[middle + 512 :]
    value = json.loads(text)
    for trial in value.get("trials", [])[1::3]:
        trial["verdict"] = "beyond-words"
    for nth, outcome in enumerate(value.get("searches", []) + value.get("sweeps", [])):
        if nth % 2:
            outcome["goals" if "goals" in outcome else "series"] = "none"
    yield f"{name}-unknown-verdicts", json.dumps(value)
    value = json.loads(text)
    value["later"] = {"member": 1}
    for entry in value.get("trials", []) + value.get("findings", []) + value.get("searches", []):
        entry["fact"] = {"kind": "later", "limit": [1, 2]}
    if value.get("recommended"):
        value["recommended"]["later"] = True
    for finding in value.get("findings", []):
        finding["text"] = finding["text"] + " (as saved)"
    yield f"{name}-later-members", json.dumps(value)


def main():
    runs, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    for group in ("older", "damaged"):
        (out / group).mkdir(parents=True, exist_ok=True)
    for nth, commit in enumerate(COMMITS):
        schema = schema_of(commit)
        definitions = schema["$defs"]
        for file in sorted(runs.glob("*.json")):
            value = older(json.loads(file.read_text()), alternatives(schema, definitions), definitions)
            (out / "older" / f"{file.stem}-schema-{nth + 1}.json").write_text(json.dumps(value))
    for file in sorted(runs.glob("*.json")):
        for name, text in damaged(file.stem, json.dumps(json.loads(file.read_text()))):
            (out / "damaged" / f"{name}.json").write_text(text)
    first = sorted(runs.glob("*.json"))[0].read_text()
    version = json.loads(first)
    version["schema_version"] = 2
    for name, text in {
        "empty": "",
        "no-json": "# notes\n",
        "foreign": '{"version": 1, "trials": []}',
        "version-2": json.dumps(version),
        "before-the-first-trial": first[: first.index('"trials"')],
    }.items():
        (out / "damaged" / f"{name}.json").write_text(text)


main()
