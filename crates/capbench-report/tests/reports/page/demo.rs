//! A report with every kind of chart, cell and mark, made without a run: figures follow simple laws, so that a test knows them.

use capbench_report::model::{
    Axis, Cell, Chart, Column, Kind, Mark, Narrow, Place, Point, Report, Role, Row, Scale, Section, Sentence,
    Series, Table, Unit,
};

pub const METHODS: [&str; 5] = ["recv", "packet-v2", "packet-v3", "libpcap", "af-xdp"];
pub const SIZES: [u32; 7] = [64, 128, 256, 512, 1024, 1280, 1518];

/// What a hostile name would try.
pub const HOSTILE: &str = "</script><script>window.harmed=1</script><img src=x onerror=window.harmed=2>";

/// Numbers that look random and are the same in every run (Numerical Recipes' generator).
struct Noise(u32);

impl Noise {
    /// From 0 to below 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(self.0 >> 8) / f64::from(1 << 24)
    }
}

/// What a method of this rank takes of frames of a size, in packets per second.
pub fn capacity(rank: usize, size: u32) -> f64 {
    (rank as f64 + 1.0) * 240_000.0 / (1.0 + f64::from(size) / 3000.0)
}

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

/// With so many trials.
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
        caveats: vec![sentence("3 of 100 trials are noisy: a CPU ran slower than its best.", &[5, 9, 11])],
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

fn ranked() -> Chart {
    let points = |factor: f64| {
        let at = |rank: usize| {
            point(rank as f64, factor * capacity(METHODS.len() - 1 - rank, 64), &[rank as u32 + 1])
        };
        (0..METHODS.len()).map(at).collect::<Vec<Point>>()
    };
    let names = METHODS.iter().rev().map(ToString::to_string).collect();
    chart(
        "ranked",
        "Sustained rate, 64-byte frames",
        Kind::Ranked,
        axis("Method", Unit::None, Scale::Names(names)),
        axis("Sustained rate", Unit::PacketsPerSecond, Scale::Linear),
        vec![
            series("without loss", Role::Delivered, points(0.9)),
            series("with up to 0.1 % loss", Role::Account, points(1.0)),
        ],
    )
}

fn column(key: &str, heading: &str, unit: Unit) -> Column {
    Column { key: key.into(), heading: heading.into(), unit, narrow: Narrow::default() }
}

fn summary() -> Table {
    let row = |(rank, method): (usize, &&str)| {
        let rate = capacity(rank, 64);
        let loss = if rank == 1 { Cell::Unknown } else { Cell::Number(0.000_000_2 * rank as f64) };
        let trials = vec![rank as u32 + 1, rank as u32 + 6];
        let interval = Cell::Interval { middle: 700.0 - 100.0 * rank as f64, low: 180.0, high: 720.5 };
        let rate = if rank == 4 { Cell::AtLeast(rate) } else { Cell::Number(rate) };
        Row { cells: vec![Cell::Text((*method).into()), rate, loss, interval, Cell::Count(1 << 60)], trials }
    };
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
        rows: METHODS.iter().enumerate().map(row).collect(),
        notes: vec!["≥: the generator was the limit.".into()],
        ..Table::default()
    }
}

fn rates() -> Section {
    let of_method = |(rank, method): (usize, &&str)| {
        let at = |(nth, &size): (usize, &u32)| {
            let rate = capacity(rank, size);
            let first = (rank * SIZES.len() + nth) as u32 * 3 + 1;
            let mut point = point(f64::from(size), rate, &[first, first + 1, first + 2]);
            point.interval = Some([rate * 0.93, rate * 1.05]);
            point
        };
        let mut points: Vec<Point> = SIZES.iter().enumerate().map(at).collect();
        if rank == 3 {
            (points[2].y, points[2].interval) = (None, None);
        }
        series(method, Role::Method, points)
    };
    let mut all: Vec<Series> = METHODS.iter().enumerate().map(of_method).collect();
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
    let mut table = summary();
    table.id = "throughput".into();
    Section {
        id: "throughput".into(),
        heading: "Throughput".into(),
        text: vec![sentence("Larger frames cost more to copy.", &[1, 2])],
        charts: vec![by_size, by_placement()],
        tables: vec![table],
    }
}

fn by_placement() -> Chart {
    let names =
        Scale::Names(vec!["same CPU".into(), "another CPU".into(), "another CPU, NAPI thread".into()]);
    let bars = |(rank, method): (usize, &&str)| {
        let at = |place: usize| {
            let rate = capacity(rank, 64) * (0.5 + 0.25 * place as f64);
            let mut point = point(place as f64, rate, &[place as u32 + 1]);
            point.interval = Some([rate * 0.9, rate * 1.1]);
            point
        };
        series(method, Role::Method, (0..3).map(at).collect())
    };
    let mut all: Vec<Series> = METHODS.iter().enumerate().map(bars).collect();
    all.push(series(
        "published",
        Role::Published,
        vec![point(0.0, 300_000.0, &[]), point(1.0, 500_000.0, &[])],
    ));
    let x = axis("placement", Unit::None, names);
    let y = axis("throughput", Unit::PacketsPerSecond, Scale::Linear);
    chart("placement", "Throughput by placement, 64 bytes", Kind::Bars, x, y, all)
}

fn losses() -> Section {
    let loads: Vec<f64> = (1..=12).map(|step| f64::from(step) * 100_000.0).collect();
    let layer = |name: &str, role: Role, share: &dyn Fn(f64) -> f64| {
        let points = loads.iter().enumerate().map(|(nth, &load)| point(load, share(load), &[nth as u32 + 1]));
        series(name, role, points.collect())
    };
    let lost = |load: f64| (load - 500_000.0).max(0.0) / load;
    let mut stacked = chart(
        "ledger",
        "Where packets of recv go, by load, 64 bytes, same CPU",
        Kind::Stacked,
        axis("offered load", Unit::PacketsPerSecond, Scale::Linear),
        axis("share of packets sent", Unit::Ratio, Scale::Linear),
        vec![
            layer("delivered", Role::Delivered, &|load| 1.0 - lost(load)),
            layer("backlog", Role::Place, &|load| lost(load) * 0.2),
            layer("ring", Role::Place, &|load| lost(load) * 0.7),
            layer("unexplained", Role::Unexplained, &|load| lost(load) * 0.1),
        ],
    );
    stacked.marks = vec![Mark { label: "throughput".into(), at: Place::X(500_000.0) }];
    let ratio = |rank: usize| {
        let at = |(nth, &load): (usize, &f64)| {
            let ratio = (load - capacity(rank, 64)).max(0.0) / load;
            point(load, ratio, &[nth as u32 + 1])
        };
        let mut points: Vec<Point> = loads.iter().enumerate().map(at).collect();
        points[6].y = None;
        series(METHODS[rank], Role::Method, points)
    };
    let mut logarithmic = chart(
        "loss-ratio",
        "Loss ratio by load, 64 bytes",
        Kind::Lines,
        axis("offered load", Unit::PacketsPerSecond, Scale::Logarithmic),
        axis("loss ratio", Unit::Ratio, Scale::Logarithmic),
        vec![ratio(0), ratio(1), ratio(2)],
    );
    logarithmic.marks = vec![Mark { label: "goal".into(), at: Place::Y(0.001) }];
    Section {
        id: "losses".into(),
        heading: "Losses".into(),
        text: vec![sentence("Most losses are in the ring.", &[7, 8, 9, 11])],
        charts: vec![stacked, logarithmic],
        tables: Vec::new(),
    }
}

fn costs() -> Section {
    let names =
        Scale::Names(METHODS.iter().map(|method| format!("{method}, 64 bytes, another CPU")).collect());
    let part = |name: &str, cost: f64| {
        let at = |place: usize| point(place as f64, cost * (5 - place) as f64, &[place as u32 + 1]);
        series(name, Role::Account, (0..5).map(at).collect())
    };
    let y = axis("CPU time", Unit::NanosecondsPerPacket, Scale::Linear);
    let all = vec![part("application", 75.5), part("kernel", 120.25)];
    let stacked =
        chart("cost", "CPU time of a packet", Kind::StackedBars, axis("method", Unit::None, names), y, all);
    let work = |(rank, method): (usize, &&str)| {
        let at = |(nth, &work): (usize, &f64)| {
            point(work, 1e9 / (300.0 + work * 2.0 + rank as f64 * 90.0), &[nth as u32 + 1])
        };
        let works = [0.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0];
        series(method, Role::Method, works.iter().enumerate().map(at).collect())
    };
    let mut all: Vec<Series> = METHODS.iter().take(2).enumerate().map(work).collect();
    let fit = (0..40)
        .map(|step| 10_f64.powf(f64::from(step) / 10.0))
        .map(|work| point(work, 1e9 / (300.0 + work * 2.0), &[]));
    all.push(series("recv, fit", Role::Fit, fit.collect()));
    let x = axis("work", Unit::Iterations, Scale::Logarithmic);
    let y = axis("delivered", Unit::PacketsPerSecond, Scale::Logarithmic);
    let by_work = chart("work", "Delivered rate by work", Kind::Lines, x, y, all);
    Section {
        id: "costs".into(),
        heading: "CPU cost".into(),
        text: Vec::new(),
        charts: vec![stacked, by_work],
        tables: Vec::new(),
    }
}

fn repeats() -> Section {
    let mut noise = Noise(7);
    let mut repeats = |rank: usize| {
        let names = 0..3_u32;
        let points = names.flat_map(|place| (0..8_u32).map(move |repeat| (place, repeat)));
        let points: Vec<Point> = points
            .map(|(place, repeat)| {
                let y = 21_000.0 + 3000.0 * rank as f64 + 4000.0 * noise.next() + 900.0 * f64::from(place);
                point(f64::from(place), y, &[place * 8 + repeat + 1])
            })
            .collect();
        series(METHODS[rank], Role::Method, points)
    };
    let all = vec![repeats(0), repeats(2), repeats(4)];
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

fn environment() -> Table {
    let row = |fields: [&str; 2]| Row {
        cells: fields.map(|field| Cell::Text(field.into())).to_vec(),
        trials: Vec::new(),
    };
    let columns = vec![column("what", "what", Unit::None), column("value", "value", Unit::None)];
    let rows = [["kernel", "6.1.0-28-amd64"], ["CPUs", "2"], ["hypervisor", "kvm"]].map(row).to_vec();
    Table { id: "host".into(), caption: "Host".into(), columns, rows, ..Table::default() }
}

fn all_trials(count: u32) -> Table {
    let mut noise = Noise(1);
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
    columns.extend(
        (0..14).map(|nth| column(&format!("lost_{nth}"), &format!("lost: place {nth}"), Unit::Count)),
    );
    columns.extend(
        (0..40).map(|nth| column(&format!("latency_{nth}_ns"), &format!("latency {nth}"), Unit::Nanoseconds)),
    );
    let row = |number: u32| {
        let load = (noise.next() * 1.4e6).round();
        let sent = (load * 2.0) as u64;
        let lost = (noise.next() * 0.1 * sent as f64) as u64;
        let method = METHODS[number as usize % METHODS.len()];
        let verdict = if lost == 0 { "lossless" } else { "lossy" };
        let mut cells = vec![
            Cell::Count(number.into()),
            Cell::Text(method.into()),
            Cell::Count(SIZES[number as usize % SIZES.len()].into()),
            Cell::Text("another CPU".into()),
            Cell::Number(load),
            Cell::Number(2.0),
            Cell::Count(sent),
            Cell::Count(sent),
            Cell::Count(sent - lost),
            Cell::Number(lost as f64 / sent.max(1) as f64),
            Cell::Signed(-i64::from(number % 3)),
            Cell::Text(verdict.into()),
            Cell::Number(noise.next() * 400.0),
            Cell::Number(noise.next() * 900.0),
            Cell::Number(noise.next() * 2.0),
        ];
        let places = (0..14).map(|nth| match nth {
            4 => Cell::Unknown,
            10 => Cell::Count(lost),
            _ => Cell::Count(0),
        });
        cells.extend(places);
        cells.extend((0..40).map(|_| Cell::Number(noise.next() * 90_000.0)));
        Row { cells, trials: vec![number] }
    };
    Table {
        id: "trials".into(),
        caption: "Every trial".into(),
        columns,
        rows: (1..=count).map(row).collect(),
        notes: vec!["Places that nothing counts here are unknown.".into()],
        ..Table::default()
    }
}
