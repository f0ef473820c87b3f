#!/usr/bin/env python3
"""Prints a TypeScript file that compiles only when a dashboard fits the types of @grafana/schema, panels' options included.

Usage: typed.py DASHBOARD PLACE; PLACE/node_modules has @grafana/schema. packaging/prometheus/check compiles it.
"""

import json
import pathlib
import sys

# A kind of panel, and the folder and the file of its options in @grafana/schema.
PANELS = {
    "heatmap": ("heatmap", "HeatmapPanelCfg_types.gen"),
    "stat": ("stat", "StatPanelCfg_types.gen"),
    "table": ("table", "TablePanelCfg_types.gen"),
    "timeseries": ("timeseries", "TimeSeriesPanelCfg_types.gen"),
}
# Options that have a default may be left out. The texts of enumerations are compared as texts.
HEAD = """\
type Plain<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T
  : T extends Array<infer U> ? Array<Plain<U>> : T extends object ? { [K in keyof T]?: Plain<T[K]> } : T;
"""


def main(board, place):
    board = json.load(open(board))
    raw = pathlib.Path(place, "node_modules/@grafana/schema/dist/esm/raw/composable")
    print("import type { Dashboard } from '@grafana/schema';")
    for kind, (folder, name) in PANELS.items():
        found = list(raw.glob(f"{folder}/panelcfg/x/{name.removesuffix('.gen')}*.d.ts"))
        assert found, f"{raw} has no types of the panel {kind}"
        path = str(found[0].resolve()).removesuffix(".d.ts")
        print(f"import type * as {kind} from '{path}.js';")
    print(HEAD)
    print(f"export const board: Plain<Dashboard> = {json.dumps(board, indent=1)};")
    for nth, panel in enumerate(board["panels"]):
        if panel["type"] == "row":
            continue
        assert panel["type"] in PANELS, f"no types for panels of the kind {panel['type']}"
        print(f"export const options{nth}: Plain<{panel['type']}.Options> = {json.dumps(panel['options'])};")
        custom = panel["fieldConfig"]["defaults"].get("custom")
        if custom is not None:
            print(f"export const fields{nth}: Plain<{panel['type']}.FieldConfig> = {json.dumps(custom)};")


main(*sys.argv[1:])
