#!/usr/bin/env python3
"""Prints the Grafana dashboard of capbench: packaging/prometheus/check says whether capbench.json is this.

Needs grafana-foundation-sdk in the version that packaging/prometheus/check names. The panels read the metrics of capbench and no
recording rule, so that the dashboard works without capbench.rules.yml.
"""

from grafana_foundation_sdk.builders import dashboard, heatmap, prometheus, stat, table, timeseries
from grafana_foundation_sdk.builders.common import (
    ReduceDataOptions,
    StackingConfig,
    TableSortByFieldState,
    VizLegendOptions,
    VizTooltipOptions,
)
from grafana_foundation_sdk.builders.heatmap import HeatmapColorOptions, YAxisConfig
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, heatmap as heatmap_model, prometheus as prometheus_model
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DataTransformerConfig,
    DynamicConfigValue,
    Threshold,
    ThresholdsMode,
    VariableHide,
    VariableRefresh,
    VariableSort,
)

DATASOURCE = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
# Every panel reads the hosts and interfaces that the variables at the top choose.
ON_HOSTS = 'instance=~"$host"'
ON_INTERFACES = f'{ON_HOSTS}, interface=~"$interface"'
WHOLE_WIDTH = 24


def query(expr, legend="", *, ref_id="A", is_instant=False, form=prometheus_model.PromQueryFormat.TIME_SERIES):
    built = prometheus.Dataquery().expr(expr).ref_id(ref_id).format(form).legend_format(legend).datasource(DATASOURCE)
    return built.instant() if is_instant else built.range()


def rows(expr, ref_id="A"):
    """The value at the end of the time range, a row a series."""
    return query(expr, ref_id=ref_id, is_instant=True, form=prometheus_model.PromQueryFormat.TABLE)


def placed(panel, title, description, width, height):
    return panel.title(title).description(description).datasource(DATASOURCE).span(width).height(height)


def limits(*steps):
    """Colours from a value on; the first begins anywhere."""
    thresholds = [Threshold(value=value, color=color) for value, color in steps]
    return dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(thresholds)


def number(title, description, expr, *, is_bad_from=1):
    """One figure of the whole fleet: green while it is small."""
    panel = placed(stat.Panel(), title, description, 4, 5)
    last = ReduceDataOptions().calcs(["lastNotNull"])
    colours = limits((None, "green"), (is_bad_from, "red")) if is_bad_from else limits((None, "blue"))
    return panel.with_target(query(expr, is_instant=True)).reduce_options(last).thresholds(colours).no_value("0")


def lines(title, description, unit, *queries, width=12, height=9, is_stacked=False):
    panel = placed(timeseries.Panel(), title, description, width, height).unit(unit).min(0)
    panel = panel.legend(
        VizLegendOptions()
        .display_mode(common.LegendDisplayMode.TABLE)
        .placement(common.LegendPlacement.BOTTOM)
        .show_legend(True)
        .calcs(["max", "lastNotNull"])
    ).tooltip(VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING))
    panel = panel.line_width(1).fill_opacity(30 if is_stacked else 5).show_points(common.VisibilityMode.NEVER)
    if is_stacked:
        panel = panel.stacking(StackingConfig().mode(common.StackingMode.NORMAL).group("A"))
    for each in queries:
        panel = panel.with_target(each)
    return panel


def columns(title, description, names, *queries, units=(), hidden=(), width=WHOLE_WIDTH, height=9, sort_by=None):
    """A table: `names` are the headings of the queries A, B, ..., `units` pairs of heading and unit."""
    panel = placed(table.Panel(), title, description, width, height).show_header(True)
    panel = panel.cell_height(common.TableCellHeight.SM)
    for each in queries:
        panel = panel.with_target(each)
    several = len(names) > 1
    values = {f"Value #{chr(ord('A') + nth)}" if several else "Value": name for nth, name in enumerate(names)}
    if several:
        panel = panel.with_transformation(DataTransformerConfig(id_val="merge", options={}))
    left_out = {name: True for name in ("Time", "__name__", "job", *hidden)}
    organize = {"excludeByName": left_out, "indexByName": {}, "renameByName": {"instance": "host", **values}}
    panel = panel.with_transformation(DataTransformerConfig(id_val="organize", options=organize))
    for name, unit in units:
        panel = panel.override_by_name(name, [DynamicConfigValue(id_val="unit", value=unit)])
    if sort_by:
        panel = panel.sort_by([TableSortByFieldState().display_name(sort_by).desc(True)])
    return panel


def variable(name, label, of, hide=VariableHide.DONT_HIDE):
    return (
        dashboard.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query({"query": of, "refId": f"capbench-{name}"})
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(".*")
        .hide(hide)
    )


def counted(of, during):
    """What counters grew by, as the recording rules of capbench.rules.yml compute it: with the first value of a series that began
    within that time, which increase() does not see."""
    return (
        f"((({of} unless {of} offset {during}) and on (job, instance) (up offset {during} == 1)) "
        f"or increase({of}[{during}]))"
    )


def fleet():
    lost_here = counted(f"capbench_lost_frames_total{{{ON_HOSTS}}}", "$__range")
    lost_by_programs = counted(f"capbench_socket_lost_frames_total{{{ON_HOSTS}}}", "$__range")
    unknown = f'capbench_place_unknown{{{ON_HOSTS}, place="ring"}} == 1'
    by_host = "sum by (instance)"
    yield dashboard.Row("Fleet: who loses packets, and who does not know?")
    yield number(
        "Hosts with metrics",
        "Hosts whose capbench was scraped at the end of the time range.",
        f"count(count by (instance) (capbench_build_info{{{ON_HOSTS}}}))",
        is_bad_from=None,
    )
    yield number(
        "Hosts that lost frames",
        "Hosts on which an interface or a program lost a frame in the time range.",
        f"count(({by_host} ({lost_here}) > 0) or ({by_host} ({lost_by_programs}) > 0)) or vector(0)",
    )
    yield number(
        "Frames lost",
        "Frames lost in the time range, at all known places of all interfaces. A frame that two sockets lose counts twice.",
        f"sum({lost_here}) or vector(0)",
    ).unit("short")
    yield number(
        "Lossy windows",
        "Windows of 100 ms in which an interface lost a frame, in the time range: bursts count, however short.",
        f'sum({counted(f"capbench_lossy_windows_total{{{ON_HOSTS}}}", "$__range")}) or vector(0)',
    ).unit("short")
    yield number(
        "Blind hosts",
        "Hosts with sockets whose drop counters capbench cannot read, and hosts that cannot be scraped.",
        f"count(count by (instance) ({unknown}) or count by (instance) "
        f'(up{{job=~"capbench.*", {ON_HOSTS}}} == 0)) or vector(0)',
    )
    yield number(
        "Alerts that fire",
        "Alerts of capbench.rules.yml, without those of severity info.",
        f'count(ALERTS{{alertname=~"Capbench.*", alertstate="firing", severity!="info", {ON_HOSTS}}}) or vector(0)',
    )
    received = counted(f"capbench_received_frames_total{{{ON_HOSTS}}}", "$__range")
    windows = counted(f"capbench_lossy_windows_total{{{ON_HOSTS}}}", "$__range")
    yield columns(
        "Hosts",
        "The sums of the time range, the host that loses most first. Unknown places are not 0.",
        ["received", "lost", "lost by programs", "lossy windows", "unknown places"],
        rows(f"{by_host} ({received})"),
        rows(f"{by_host} ({lost_here})", "B"),
        rows(f"{by_host} ({lost_by_programs})", "C"),
        rows(f"{by_host} ({windows})", "D"),
        rows(f"{by_host} (capbench_place_unknown{{{ON_HOSTS}}})", "E"),
        units=[(name, "short") for name in ("received", "lost", "lost by programs", "lossy windows", "unknown places")],
        sort_by="lost",
    )


def places():
    yield dashboard.Row("Loss: where, and in bursts?")
    yield lines(
        "Loss by place",
        "Frames lost in the five minutes before each point, as the alerts count them. The places are disjoint: the top of the "
        "stack is the known loss.",
        "short",
        query(
            "sum by (instance, interface, place) "
            f"({counted(f'capbench_lost_frames_total{{{ON_INTERFACES}}}', '5m')}) > 0",
            "{{instance}} {{interface}} {{place}}",
        ),
        is_stacked=True,
    )
    yield lines(
        "Lossy windows of 100 ms",
        "Share of the windows of 100 ms of 15 minutes in which frames were lost. A burst shows here when the rate of the loss is "
        "small.",
        "percentunit",
        query(
            "sum by (instance, interface, place) "
            f"({counted(f'capbench_lossy_windows_total{{{ON_INTERFACES}}}', '15m')}) "
            "/ on (instance, interface) group_left () sum by (instance, interface) "
            f"({counted(f'capbench_windows_total{{{ON_INTERFACES}}}', '15m')}) > 0",
            "{{instance}} {{interface}} {{place}}",
        ),
    )
    yield lines(
        "Received",
        "Frames per second that the interface received. 0 for a long time: the mirror port is dead.",
        "pps",
        query(
            f"sum by (instance, interface) (rate(capbench_received_frames_total{{{ON_INTERFACES}}}[$__rate_interval]))",
            "{{instance}} {{interface}}",
        ),
    )
    yield columns(
        "Unknown places",
        "No counter of the host reports the loss at these places. It is not 0.",
        ["unknown"],
        rows(f"capbench_place_unknown{{{ON_INTERFACES}}} == 1"),
        width=12,
    )


def sockets():
    labels = "instance, interface, program, method, group"
    delivered = f"capbench_socket_delivered_frames_total{{{ON_INTERFACES}}}"
    losses = f"capbench_socket_lost_frames_total{{{ON_INTERFACES}}}"
    resets = f"capbench_socket_statistics_resets_total{{{ON_INTERFACES}}}"
    yield dashboard.Row("Sockets: which program loses?")
    yield columns(
        "Sockets by program",
        "The sums of the time range. With counter resets the program reads its own counter, and lost is a lower limit.",
        ["delivered", "lost", "counter resets"],
        rows(f"sum by ({labels}) ({counted(delivered, '$__range')})"),
        rows(f"sum by ({labels}) ({counted(losses, '$__range')})", "B"),
        rows(f"sum by ({labels}) ({counted(resets, '$__range')})", "C"),
        units=[(name, "short") for name in ("delivered", "lost", "counter resets")],
        sort_by="lost",
    )
    yield lines(
        "Loss by program",
        "Frames that the kernel dropped in the five minutes before each point because the ring of the program was full, as the "
        "alerts count them.",
        "short",
        query(
            f"sum by (instance, interface, program) ({counted(losses, '5m')}) > 0",
            "{{instance}} {{interface}} {{program}}",
        ),
    )
    yield lines(
        "Read by program",
        "Frames per second that the kernel passed to the program.",
        "pps",
        query(
            f"sum by (instance, interface, program) (rate({delivered}[$__rate_interval]))",
            "{{instance}} {{interface}} {{program}}",
        ),
    )


def rings():
    ring = f"capbench_ring_used_ratio_bucket{{{ON_INTERFACES}}}"
    yield dashboard.Row("Rings: how near is the next loss?")
    filled = placed(
        heatmap.Panel(), "Ring fill", "Ten readings a second of the rings of capbench itself (record, count, soak): how many found it how full.", 12, 9
    ).with_target(
        query(
            f"sum by (le) (increase({ring}[$__rate_interval]))", "{{le}}", form=prometheus_model.PromQueryFormat.HEATMAP
        )
    )
    colours = HeatmapColorOptions().mode(heatmap_model.HeatmapColorMode.SCHEME).scheme("Oranges").steps(64)
    yield filled.calculate(False).color(colours).y_axis(YAxisConfig().unit("percentunit").min(0).max(1))
    yield lines(
        "Fullest 1 % of the readings",
        "The 99th percentile of the ring fill, for each ring. The alert CapbenchRingFilling watches it.",
        "percentunit",
        query(
            f"histogram_quantile(0.99, rate({ring}[$__rate_interval]))",
            "{{instance}} {{interface}}",
        ),
    )


def recorder():
    def rate_of(name):
        return f"sum by (instance, interface) (rate({name}{{{ON_INTERFACES}}}[$__rate_interval]))"

    yield dashboard.Row("Recorder: capbench record")
    yield lines(
        "Frames recorded",
        "Frames per second in the files.",
        "pps",
        query(rate_of("capbench_recorded_frames_total"), "{{instance}} {{interface}}"),
        width=6,
    )
    refused = counted(f"capbench_refused_frames_total{{{ON_INTERFACES}}}", "5m")
    yield lines(
        "Frames refused",
        "Frames that were captured and not written in the five minutes before each point: no buffer was free.",
        "short",
        query(f"sum by (instance, interface) ({refused})", "{{instance}} {{interface}}"),
        width=6,
    )
    yield lines(
        "Octets recorded",
        "Octets per second in the files.",
        "Bps",
        query(rate_of("capbench_recorded_bytes_total"), "{{instance}} {{interface}}"),
        width=6,
    )
    yield lines(
        "Time since the last write",
        "It grows while the recorder writes nothing, and while no frame arrives.",
        "s",
        query(
            f"time() - capbench_recorder_last_write_timestamp_seconds{{{ON_INTERFACES}}}", "{{instance}} {{interface}}"
        ),
        width=6,
    )


def benches():
    labels = "instance, command, method, frame_size, placement, goal"
    runs = "instance, command"
    yield dashboard.Row("Bench: what can these hosts capture?")
    yield columns(
        "Throughput of the last bench, search or soak",
        "From the textfile that the run has left.",
        ["frames/s"],
        rows(f"max by ({labels}) (capbench_throughput_frames_per_second{{{ON_HOSTS}}})"),
        units=[("frames/s", "pps")],
        width=9,
    )
    yield columns(
        "Runs",
        "How long ago the last run of each kind ended, and how. An exit code other than 0: the run failed or was not sure.",
        ["age", "exit code"],
        rows(f"time() - max by ({runs}) (capbench_run_timestamp_seconds{{{ON_HOSTS}}})"),
        rows(f"max by ({runs}) (capbench_run_exit_code{{{ON_HOSTS}}})", "B"),
        units=[("age", "s")],
        width=6,
    )
    yield lines(
        "Throughput over time",
        "A step after an update of kernel, driver or firmware is worth a `capbench compare`.",
        "pps",
        query(
            f"max by ({labels}) (capbench_throughput_frames_per_second{{{ON_HOSTS}}})",
            "{{instance}} {{method}} {{frame_size}} {{placement}}",
        ),
        width=9,
    )


def built():
    board = (
        dashboard.Dashboard("capbench: packet capture loss")
        .uid("capbench")
        .description("Which sensors lose packets, where, and which of them do not know. Made by packaging/grafana/dashboard.py.")
        .tags(["capbench", "network", "capture"])
        .time("now-6h", "now")
        .refresh("1m")
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(variable("host", "Host", "label_values(capbench_build_info, instance)"))
        .with_variable(
            variable("interface", "Interface", f"label_values(capbench_received_frames_total{{{ON_HOSTS}}}, interface)")
        )
    )
    sections = (fleet, places, sockets, rings, recorder, benches)
    for number_of_it, part in enumerate((part for section in sections for part in section()), start=1):
        part = part.id(number_of_it)
        board = board.with_row(part) if isinstance(part, dashboard.Row) else board.with_panel(part)
    made = board.build()
    for each in made.templating.list_val:
        # Of variables that are intervals; the SDK gives them to all.
        each.auto = each.auto_count = each.auto_min = None
    for each in made.panels:
        # Grafana 13 has no such option any more; before, it was off by default.
        if each.type_val == "table":
            each.options.footer = None
    return made


if __name__ == "__main__":
    print(JSONEncoder(sort_keys=True, indent=1).encode(built()))
