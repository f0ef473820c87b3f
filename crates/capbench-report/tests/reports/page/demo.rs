//! A report with every kind of chart, cell and mark. It is made without a run: its figures follow simple laws, so that tests can
//! compute them.

use capbench_report::model::{
    Axis, Cell, Chart, Column, Kind, Mark, Narrow, Place, Point, Report, Role, Row, Scale, Section, Sentence,
    Series, Table, Unit,
};

pub const METHODS: [&str; 5] = ["recv", "packet-v2", "packet-v3", "libpcap", "af-xdp"];
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// A name that tries to run a script; it sets `window.harmed` if it succeeds.
pub const HOSTILE: &str = "</script><script>window.harmed=1</script><img src=x onerror=window.harmed=2>";

/// Numbers that look random and are the same in every run: the linear congruential generator of Numerical Recipes.
struct Random(u32);

impl Random {
    /// From 0 to below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / f64::from(1 << 24)
    }
}

/// The rate at which the method at this position of [`METHODS`] captures frames of a size, in packets per second.
pub fn capacity(method: usize, size: u32) -> f64 {
    (method as f64 + 1.0) * 240_000.0 / (1.0 + f64::from(size) / 3000.0)
}

/// The rate of frames of a size on a link of 1 Gbit/s, with 20 octets between frames.
fn line_rate(size: u32) -> f64 {
    1e9 / (f64::from(size + 20) * 8.0)
}

fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.into(), unit, scale }
}

fn point(x: f64, y: f64, trials: &[u32]) -> Point {
    Point { x, y: Some(y), interval: None, is_at_least: false, trials: trials.to_vec() }
}

fn series(name: &str, role: Role, points: Vec<Point>) -> Series {
    Series { name: name.into(), role, points }
}

fn chart(id: &str, title: &str, kind: Kind, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    Chart { id: id.into(), title: title.into(), kind, x, y, series, marks: Vec::new(), notes: Vec::new() }
}

fn sentence(text: &str, trials: &[u32]) -> Sentence {
    Sentence { text: text.into(), trials: trials.to_vec() }
}

/// The report, with this number of trials.
pub fn report(trials: u32) -> Report {
    Report {
        title: "capbench bench".into(),
        subtitle:
            "capbench bench --size 64,1518 --placement same,other, 2026-11-21 10:12:13 UTC, on sensor-1"
                .into(),
        verdict: sentence("Use packet-v3: at least 1.41 million packets/s without loss.", &[1, 2, 3, 4]),
        warnings: vec!["The run was interrupted after 97 of 100 trials.".into()],
        picture: vec![ranked()],
        summary: Some(summary()),
        details: Vec::new(),
        caveats: vec![sentence(
            "Noise may have changed 3 of 100 trials: a CPU ran slower than its best.",
            &[5, 9, 11],
        )],
        disturbers: None,
        sections: vec![rates(), losses(), costs(), repeats()],
        findings: vec![
            sentence("Twice the frame size costs 3 % of the packet rate.", &(1..=40).collect::<Vec<u32>>()),
            sentence("libpcap runs on packet-v3 here.", &[2, 4, 6, 8, 10, 12, 14, 16]),
        ],
        environment: vec![environment()],
        statements: vec![
            "The bed is a veth pair between two namespaces; virtual links have no line rate.".into(),
        ],
        trials: all_trials(trials),
    }
}

/// Sustained rates as bars in rows, the fastest method first.
fn ranked() -> Chart {
    let mut lossless = Vec::new();
    let mut nearly_lossless = Vec::new();
    for row in 0..METHODS.len() {
        let rate = capacity(METHODS.len() - 1 - row, 64);
        let trial = row as u32 + 1;
        lossless.push(point(row as f64, 0.9 * rate, &[trial]));
        nearly_lossless.push(point(row as f64, rate, &[trial]));
    }
    let names = METHODS.iter().rev().map(ToString::to_string).collect();
    chart(
        "ranked",
        "Sustained rate, 64-byte frames",
        Kind::Ranked,
        axis("Method", Unit::None, Scale::Names(names)),
        axis("Sustained rate", Unit::PacketsPerSecond, Scale::Linear),
        vec![
            series("without loss", Role::Delivered, lossless),
            series("with up to 0.1 % loss", Role::Account, nearly_lossless),
        ],
    )
}

fn column(key: &str, heading: &str, unit: Unit) -> Column {
    Column { key: key.into(), heading: heading.into(), unit, narrow: Narrow::default() }
}

/// A row for each method: a rate, of which one is a lower bound; a share, of which one is unknown; an interval, and a count.
fn summary() -> Table {
    let mut rows = Vec::new();
    for (index, method) in METHODS.iter().enumerate() {
        let rate = capacity(index, 64);
        let rate = if index == 4 { Cell::AtLeast(rate) } else { Cell::Number(rate) };
        let loss = if index == 1 { Cell::Unknown } else { Cell::Number(0.000_000_2 * index as f64) };
        let cost = Cell::Interval { middle: 700.0 - 100.0 * index as f64, low: 180.0, high: 720.5 };
        let cells = vec![Cell::Text((*method).into()), rate, loss, cost, Cell::Count(1 << 60)];
        rows.push(Row { cells, trials: vec![index as u32 + 1, index as u32 + 6] });
    }
    Table {
        id: "summary".into(),
        caption: "What each method captures without loss, 64 bytes, another CPU".into(),
        columns: vec![
            column("method", "method", Unit::None),
            column("throughput_pps", "throughput", Unit::PacketsPerSecond),
            column("loss_ratio", "loss at 1 Mpps", Unit::Ratio),
            column("app_ns_per_packet", "application", Unit::NanosecondsPerPacket),
            column("sent", "sent", Unit::Count),
        ],
        rows,
        notes: vec!["≥: the generator was the limit.".into()],
        ..Table::default()
    }
}

/// The rates of a method by frame size, three trials each with an interval. The rate of `libpcap` at 256 bytes is unknown.
fn rates_of_method(index: usize) -> Series {
    let mut points = Vec::new();
    for (nth, size) in SIZES.into_iter().enumerate() {
        let rate = capacity(index, size);
        let first_trial = (index * SIZES.len() + nth) as u32 * 3 + 1;
        let trials = [first_trial, first_trial + 1, first_trial + 2];
        let is_unknown = METHODS[index] == "libpcap" && size == 256;
        points.push(Point {
            x: f64::from(size),
            y: if is_unknown { None } else { Some(rate) },
            interval: if is_unknown { None } else { Some([rate * 0.93, rate * 1.05]) },
            is_at_least: false,
            trials: trials.to_vec(),
        });
    }
    series(METHODS[index], Role::Method, points)
}

/// Lines over frame sizes with a published line and marks, and bars over placements; a table.
fn rates() -> Section {
    let mut all: Vec<Series> = (0..METHODS.len()).map(rates_of_method).collect();
    let published = SIZES.iter().map(|&size| point(f64::from(size), 400_000.0, &[])).collect();
    all.push(series("PF_RING, 2008", Role::Published, published));
    let x = axis("frame size", Unit::Bytes, Scale::Logarithmic);
    let y = axis("throughput", Unit::PacketsPerSecond, Scale::Linear);
    let mut by_size = chart("throughput", "Throughput by frame size, another CPU", Kind::Lines, x, y, all);
    by_size.marks = vec![
        Mark {
            label: "line rate of 1 Gbit/s".into(),
            at: Place::Curve(SIZES.iter().map(|&size| [f64::from(size), line_rate(size)]).collect()),
        },
        Mark { label: "needed".into(), at: Place::Y(800_000.0) },
        Mark { label: "10 Gbit/s at 64 bytes".into(), at: Place::Y(14_880_952.0) },
    ];
    by_size.notes = vec!["Intervals are between two of the repeats (95 %).".into()];
    let table = Table { id: "throughput".into(), ..summary() };
    Section {
        id: "throughput".into(),
        heading: "Throughput".into(),
        text: vec![sentence("Larger frames cost more to copy.", &[1, 2])],
        charts: vec![by_size, by_placement()],
        tables: vec![table],
    }
}

/// Bars of all methods at three names, and a published bar at two of them.
fn by_placement() -> Chart {
    let names =
        Scale::Names(vec!["same CPU".into(), "another CPU".into(), "another CPU, NAPI thread".into()]);
    let mut all = Vec::new();
    for (index, method) in METHODS.iter().enumerate() {
        let mut points = Vec::new();
        for placement in 0..3_u32 {
            let rate = capacity(index, 64) * (0.5 + 0.25 * f64::from(placement));
            let bar = point(f64::from(placement), rate, &[placement + 1]);
            points.push(Point { interval: Some([rate * 0.9, rate * 1.1]), ..bar });
        }
        all.push(series(method, Role::Method, points));
    }
    let published = vec![point(0.0, 300_000.0, &[]), point(1.0, 500_000.0, &[])];
    all.push(series("published", Role::Published, published));
    let x = axis("placement", Unit::None, names);
    let y = axis("throughput", Unit::PacketsPerSecond, Scale::Linear);
    chart("placement", "Throughput by placement, 64 bytes", Kind::Bars, x, y, all)
}

/// The loads of both charts of losses.
fn loads() -> Vec<f64> {
    (1..=12).map(|step| f64::from(step) * 100_000.0).collect()
}

/// A layer over the loads: the share of the sent frames at each.
fn layer(name: &str, role: Role, share: fn(f64) -> f64) -> Series {
    let mut points = Vec::new();
    for (nth, load) in loads().into_iter().enumerate() {
        points.push(point(load, share(load), &[nth as u32 + 1]));
    }
    series(name, role, points)
}

/// The share that a method loses which captures 500,000 frames per second.
fn lost_above_500k(load: f64) -> f64 {
    (load - 500_000.0).max(0.0) / load
}

/// Layers over the load, with an upright line.
fn losses_by_place() -> Chart {
    let layers = vec![
        layer("delivered", Role::Delivered, |load| 1.0 - lost_above_500k(load)),
        layer("backlog", Role::Place, |load| lost_above_500k(load) * 0.2),
        layer("ring", Role::Place, |load| lost_above_500k(load) * 0.7),
        layer("unexplained", Role::Unexplained, |load| lost_above_500k(load) * 0.1),
    ];
    let x = axis("offered load", Unit::PacketsPerSecond, Scale::Linear);
    let y = axis("share of packets sent", Unit::Ratio, Scale::Linear);
    let title = "Where packets of recv go, by load, 64 bytes, same CPU";
    let mut chart = chart("ledger", title, Kind::Stacked, x, y, layers);
    chart.marks = vec![Mark { label: "throughput".into(), at: Place::X(500_000.0) }];
    chart
}

/// Lines with two logarithmic axes, and with an unknown value each.
fn loss_ratios() -> Chart {
    let mut lines = Vec::new();
    for (index, method) in METHODS.iter().enumerate().take(3) {
        let mut points = Vec::new();
        for (nth, load) in loads().into_iter().enumerate() {
            let ratio = (load - capacity(index, 64)).max(0.0) / load;
            points.push(point(load, ratio, &[nth as u32 + 1]));
        }
        points[6].y = None;
        lines.push(series(method, Role::Method, points));
    }
    let x = axis("offered load", Unit::PacketsPerSecond, Scale::Logarithmic);
    let y = axis("loss ratio", Unit::Ratio, Scale::Logarithmic);
    let mut chart = chart("loss-ratio", "Loss ratio by load, 64 bytes", Kind::Lines, x, y, lines);
    chart.marks = vec![Mark { label: "goal".into(), at: Place::Y(0.001) }];
    chart
}

fn losses() -> Section {
    Section {
        id: "losses".into(),
        heading: "Losses".into(),
        text: vec![sentence("Most losses are in the ring.", &[7, 8, 9, 11])],
        charts: vec![losses_by_place(), loss_ratios()],
        tables: Vec::new(),
    }
}

/// Stacked bars with long names.
fn costs_by_method() -> Chart {
    let names =
        Scale::Names(METHODS.iter().map(|method| format!("{method}, 64 bytes, another CPU")).collect());
    let mut parts = Vec::new();
    for (name, ns) in [("application", 75.5), ("kernel", 120.25)] {
        let mut points = Vec::new();
        for index in 0..METHODS.len() {
            points.push(point(index as f64, ns * (5 - index) as f64, &[index as u32 + 1]));
        }
        parts.push(series(name, Role::Account, points));
    }
    let x = axis("method", Unit::None, names);
    let y = axis("CPU time", Unit::NanosecondsPerPacket, Scale::Linear);
    chart("cost", "CPU time of a packet", Kind::StackedBars, x, y, parts)
}

/// Lines over works that differ by orders of magnitude, one of which is 0, with a fitted line.
fn rate_by_work() -> Chart {
    let mut lines = Vec::new();
    for (index, method) in METHODS.iter().enumerate().take(2) {
        let mut points = Vec::new();
        let works = [0.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0];
        for (nth, work) in works.into_iter().enumerate() {
            let rate = 1e9 / (300.0 + work * 2.0 + index as f64 * 90.0);
            points.push(point(work, rate, &[nth as u32 + 1]));
        }
        lines.push(series(method, Role::Method, points));
    }
    let mut fit = Vec::new();
    for step in 0..40 {
        let work = 10_f64.powf(f64::from(step) / 10.0);
        fit.push(point(work, 1e9 / (300.0 + work * 2.0), &[]));
    }
    lines.push(series("recv, fit", Role::Fit, fit));
    let x = axis("work", Unit::Iterations, Scale::Logarithmic);
    let y = axis("delivered", Unit::PacketsPerSecond, Scale::Logarithmic);
    chart("work", "Delivered rate by work", Kind::Lines, x, y, lines)
}

fn costs() -> Section {
    Section {
        id: "costs".into(),
        heading: "CPU cost".into(),
        text: Vec::new(),
        charts: vec![costs_by_method(), rate_by_work()],
        tables: Vec::new(),
    }
}

/// Single points, eight at each of three names.
fn repeats() -> Section {
    let mut random = Random(7);
    let mut all = Vec::new();
    for method in [0, 2, 4] {
        let mut points = Vec::new();
        for load in 0..3_u32 {
            for repeat in 0..8_u32 {
                let ns = 21_000.0 + 3000.0 * method as f64 + 4000.0 * random.next() + 900.0 * f64::from(load);
                points.push(point(f64::from(load), ns, &[load * 8 + repeat + 1]));
            }
        }
        all.push(series(METHODS[method], Role::Method, points));
    }
    let x = axis("load", Unit::None, Scale::Names(vec!["10 %".into(), "50 %".into(), "90 %".into()]));
    let y = axis("99.9th percentile", Unit::Nanoseconds, Scale::Linear);
    Section {
        id: "latency".into(),
        heading: "Latency".into(),
        text: vec![sentence("Each point is a repeat.", &[])],
        charts: vec![chart("latency", "Latency of each repeat, 64 bytes", Kind::Points, x, y, all)],
        tables: Vec::new(),
    }
}

/// Three facts about a host.
fn environment() -> Table {
    let mut rows = Vec::new();
    for fact in [["kernel", "6.1.0-28-amd64"], ["CPUs", "2"], ["hypervisor", "kvm"]] {
        rows.push(Row { cells: fact.map(|field| Cell::Text(field.into())).to_vec(), trials: Vec::new() });
    }
    let columns = vec![column("what", "what", Unit::None), column("value", "value", Unit::None)];
    Table { id: "host".into(), caption: "Host".into(), columns, rows, ..Table::default() }
}

/// Columns of losses of a trial, and columns of latency.
const PLACES: usize = 14;
const LATENCIES: usize = 40;

fn columns_of_trials() -> Vec<Column> {
    let mut columns = vec![
        column("trial", "trial", Unit::None),
        column("method", "method", Unit::None),
        column("frame_size", "frame size", Unit::Bytes),
        column("placement", "placement", Unit::None),
        column("intended_pps", "intended load", Unit::PacketsPerSecond),
        column("duration_s", "duration", Unit::Seconds),
        column("intended", "intended", Unit::Count),
        column("sent", "sent", Unit::Count),
        column("delivered", "delivered", Unit::Count),
        column("loss_ratio", "loss", Unit::Ratio),
        column("unexplained", "unexplained", Unit::Count),
        column("verdict", "verdict", Unit::None),
        column("app_ns_per_packet", "application", Unit::NanosecondsPerPacket),
        column("kernel_ns_per_packet", "kernel", Unit::NanosecondsPerPacket),
        column("busy_cores", "busy", Unit::Cores),
    ];
    for nth in 0..PLACES {
        columns.push(column(&format!("lost_{nth}"), &format!("lost: place {nth}"), Unit::Count));
    }
    for nth in 0..LATENCIES {
        columns.push(column(&format!("latency_{nth}_ns"), &format!("latency {nth}"), Unit::Nanoseconds));
    }
    columns
}

/// A trial of 2 s at a random load, which lost up to a tenth of its frames, all at place 10. Losses at place 4 are unknown.
fn trial(number: u32, random: &mut Random) -> Row {
    let load = (random.next() * 1.4e6).round();
    let sent = (load * 2.0) as u64;
    let lost = (random.next() * 0.1 * sent as f64) as u64;
    let mut cells = vec![
        Cell::Count(number.into()),
        Cell::Text(METHODS[number as usize % METHODS.len()].into()),
        Cell::Count(SIZES[number as usize % SIZES.len()].into()),
        Cell::Text("another CPU".into()),
        Cell::Number(load),
        Cell::Number(2.0),
        Cell::Count(sent),
        Cell::Count(sent),
        Cell::Count(sent - lost),
        Cell::Number(lost as f64 / sent.max(1) as f64),
        Cell::Signed(-i64::from(number % 3)),
        Cell::Text(if lost == 0 { "lossless" } else { "lossy" }.into()),
        Cell::Number(random.next() * 400.0),
        Cell::Number(random.next() * 900.0),
        Cell::Number(random.next() * 2.0),
    ];
    for place in 0..PLACES {
        cells.push(match place {
            4 => Cell::Unknown,
            10 => Cell::Count(lost),
            _ => Cell::Count(0),
        });
    }
    for _ in 0..LATENCIES {
        cells.push(Cell::Number(random.next() * 90_000.0));
    }
    Row { cells, trials: vec![number] }
}

fn all_trials(count: u32) -> Table {
    let mut random = Random(1);
    Table {
        id: "trials".into(),
        caption: "Every trial".into(),
        columns: columns_of_trials(),
        rows: (1..=count).map(|number| trial(number, &mut random)).collect(),
        notes: vec!["Places that nothing counts here are unknown.".into()],
        ..Table::default()
    }
}
