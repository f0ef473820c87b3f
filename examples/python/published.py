"""Draws the curves of a published table next to those of this host: a PNG file for each table.

python examples/python/published.py                 # measures dain-2004 in about five minutes, saves dain-2004-*.png
python examples/python/published.py --run RUN       # draws a run of `capbench reproduce` that is already there

Needs the packages capbench (folder python/) and matplotlib. The cells (# %%) also run one by one in a notebook.
"""

# %% What to draw
import argparse
from pathlib import Path

import matplotlib

import capbench
from capbench import results

matplotlib.use("Agg")
from matplotlib import pyplot as plt

flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
flags.add_argument("publication", nargs="?", default="dain-2004", help="a key of `capbench reproduce` [dain-2004]")
flags.add_argument("--run", type=Path, help="a saved run, instead of a new one")
flags.add_argument("--out", type=Path, default=Path(), help="folder of the pictures [.]")
chosen = flags.parse_args()

# %% The run: the published numbers are in it, next to the measured ones
if chosen.run:
    run = capbench.read_run(chosen.run)
else:
    run = capbench.run("reproduce", chosen.publication, progress=print)
    print(run.text)

# %% One table
LABELS = {
    "captured": ("captured, % of the sent frames", 100),
    "packets_per_second": ("thousand packets/s", 1e-3),
    "bits_per_second": ("Gbit/s", 1e-9),
    "load": ("CPU time, % of one CPU", 100),
    "nanoseconds_per_packet": ("CPU time, ns/packet", 1),
}

HOLLOW = "hollow: the generator did not reach the published load, or buffers absorbed it"


def draw(table: results.Comparison2, source: str, file: Path) -> None:
    """Published columns are dashed, those of this host solid with the range of their visits.

    A hollow point has a mark in the table: it does not show what the method can do under the published load.
    """
    quantity = table["curves"]
    label, factor = LABELS.get(quantity, (quantity.replace("_", " "), 1))
    figure, axes = plt.subplots(figsize=(9, 5), layout="constrained")
    for index, column in enumerate(table["columns"]):
        # An unknown value leaves a gap. It is not 0.
        points = [
            (row["at"], value, row["cells"][index])
            for row in table["rows"]
            if "at" in row and (value := row["cells"][index]["value"]) is not None
        ]
        if column["quantity"] != quantity or column["side"] == "given" or not points:
            continue
        here = column["side"] == "here"
        at = [place for place, _, _ in points]
        values = [value * factor for _, value, _ in points]
        name = " ".join(filter(None, ["here:" if here else f"{source}:", column["method"], column["what"]]))
        line = axes.plot(at, values, "o-" if here else "s--", markersize=4, label=name)[0]
        if here:
            low = [cell.get("low", value) * factor for _, value, cell in points]
            high = [cell.get("high", value) * factor for _, value, cell in points]
            axes.fill_between(at, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
        marked = [(place, value * factor) for place, value, cell in points if "mark" in cell]
        if marked:
            axes.plot(
                *zip(*marked, strict=True), "o", markersize=4, markerfacecolor="white", color=line.get_color(), zorder=3
            )
    axes.set(title=table["caption"], xlabel=table["rows_are"]["heading"], ylabel=label)
    axes.annotate(HOLLOW, (0, -0.13), xycoords="axes fraction", fontsize="small", verticalalignment="top")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    figure.savefig(file, dpi=120)
    plt.close(figure)
    print(f"wrote {file}")


# %% All tables that have curves
chosen.out.mkdir(parents=True, exist_ok=True)
drawn = [
    (table, reproduction)
    for reproduction in run.results.get("reproductions", [])
    for table in reproduction["tables"]
    if table.get("curves")
]
if not drawn:
    raise SystemExit(f"{run.folder}: the run has no published table with curves; run `capbench reproduce dain-2004`")
for table, reproduction in drawn:
    draw(table, reproduction["key"], chosen.out / f"{table['id']}.png")
