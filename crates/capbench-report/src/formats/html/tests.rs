use super::*;
use crate::model::{
    Axis, Cell, Chart, Column, Kind, Mark, Place, Point, Role, Row, Scale, Section, Sentence, Series, Table,
    Unit,
};

/// What a hostile name would try.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" ' &";

fn column(key: &str, heading: &str, unit: Unit) -> Column {
    Column::new(key, heading, unit)
}

fn table(id: &str, name: &str) -> Table {
    Table {
        id: id.into(),
        caption: format!("{name}, 64 bytes"),
        columns: vec![
            column("method", "method", Unit::None),
            column("delivered_pps", "delivered", Unit::PacketsPerSecond),
            column("loss_ratio", "loss", Unit::Ratio),
        ],
        rows: vec![
            Row {
                cells: vec![Cell::Text(name.into()), Cell::Number(1_234_567.75), Cell::Number(0.000_000_2)],
                trials: vec![1, 2, 3, 99],
            },
            Row {
                cells: vec![Cell::Text("recv".into()), Cell::AtLeast(900_000.0), Cell::Unknown],
                trials: vec![2],
            },
        ],
        notes: vec![format!("A note on {name}.")],
        is_main: false,
    }
}

fn sentence(text: String) -> Sentence {
    Sentence { text, trials: vec![1] }
}

fn chart(name: &str) -> Chart {
    let axis = |label: &str, unit| Axis { label: label.into(), unit, scale: Scale::Linear };
    let point = |x, y| Point { x, y, interval: y.map(|y| [y - 1.0, y + 1.0]), trials: vec![1] };
    Chart {
        id: "rates".into(),
        title: format!("Rates of {name}"),
        kind: Kind::Lines,
        x: axis("frame size", Unit::Bytes),
        y: axis("delivered", Unit::PacketsPerSecond),
        series: vec![Series {
            name: name.into(),
            role: Role::Method,
            points: vec![point(64.0, Some(5.0)), point(128.0, None), point(f64::NAN, Some(1.0))],
        }],
        marks: vec![
            Mark { label: name.into(), at: Place::Y(8.0) },
            Mark { label: "nowhere".into(), at: Place::X(f64::INFINITY) },
        ],
        notes: vec![format!("Below {name}.")],
    }
}

fn report(name: &str) -> Report {
    let trial = |number: u32| Row {
        cells: vec![Cell::Count(number.into()), Cell::Text(name.into()), Cell::Signed(-3), Cell::Empty],
        trials: vec![number],
    };
    Report {
        title: format!("bench of {name}"),
        subtitle: format!("capbench bench --method {name}"),
        verdict: vec![sentence(format!("{name} captures every packet."))],
        warnings: vec![format!("A warning about {name}.")],
        summary: Some(table("summary", name)),
        sections: vec![Section {
            id: "rates".into(),
            heading: format!("Rates of {name}"),
            text: vec![sentence(format!("{name} is to be seen here."))],
            charts: vec![chart(name)],
            tables: vec![table("rates", name)],
        }],
        findings: vec![sentence(format!("{name} was found."))],
        environment: vec![table("host", name)],
        statements: vec![format!("{name} was stated.")],
        trials: Table {
            id: "trials".into(),
            caption: "Every trial".into(),
            columns: vec![
                column("trial", "trial", Unit::None),
                column("method", "method", Unit::None),
                column("unexplained", "unexplained", Unit::Count),
                column("cost", "cost", Unit::NanosecondsPerPacket),
            ],
            rows: vec![trial(1), trial(2), trial(3)],
            notes: Vec::new(),
            is_main: false,
        },
    }
}

/// The page without what is the same in every one.
fn skeleton(page: &str) -> String {
    let mut page = page.to_owned();
    for text in [STYLE, THEME, UPLOT, SCRIPT] {
        page = page.replace(&policy_source(text), "'sha256-...'").replace(text, "...");
    }
    page
}

#[test]
fn a_small_page_has_this_skeleton() {
    insta::assert_snapshot!(skeleton(&html(&report("packet-v3"))));
}

#[test]
fn what_stands_in_results_stays_text() {
    let page = skeleton(&html(&report(HOSTILE)));
    assert_eq!(page.matches("<script").count(), 4, "{page}");
    assert_eq!(page.matches("</script>").count(), 4, "{page}");
    assert!(!page.contains("<img"), "{page}");
    let name = page.split("Rates of ").nth(1).unwrap();
    assert!(name.starts_with("&lt;"), "{name}");
}

/// Whatever a browser would fetch has one of these.
#[test]
fn nothing_is_loaded_and_nothing_is_sent() {
    let page = html(&report("packet-v3"));
    for loads in
        ["src=", "<link", "<iframe", "url(", "@import", "fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon"]
    {
        assert!(!page.contains(loads), "{loads}");
    }
    for link in page.split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "{}", &link[..20]);
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
}

/// A script ends at the first of these, wherever it stands.
#[test]
fn scripts_and_styles_end_where_they_should() {
    for text in [STYLE, THEME, UPLOT, SCRIPT] {
        let lower = text.to_lowercase();
        assert!(!lower.contains("</script") && !lower.contains("</style") && !lower.contains("<!--"));
        // A parser would turn it into a line feed, and the digest would be another.
        assert!(!text.contains('\r'));
    }
    assert!(!charts::json(&report(HOSTILE)).contains('<'));
}

#[test]
fn the_licence_of_what_is_not_ours_goes_with_it() {
    let page = html(&report("packet-v3"));
    assert!(page.contains("The MIT License (MIT)") && page.contains("Leon Sorokin"));
}

#[test]
fn a_chart_keeps_gaps_intervals_and_trials_and_only_numbers_that_are_some() {
    let charts: serde_json::Value = serde_json::from_str(&charts::json(&report("packet-v3"))).unwrap();
    let series = &charts[0]["series"][0];
    assert_eq!(series["x"], serde_json::json!([64.0, 128.0]));
    assert_eq!(series["y"], serde_json::json!([5.0, null]));
    assert_eq!(series["intervals"], serde_json::json!([[4.0, 6.0], null]));
    assert_eq!(series["trials"], serde_json::json!([[1], [1]]));
    assert_eq!(charts[0]["marks"], serde_json::json!([{ "label": "packet-v3", "y": 8.0 }]));
}

#[test]
fn a_report_with_nothing_in_it_is_a_page() {
    let empty = Report {
        verdict: Vec::new(),
        warnings: Vec::new(),
        summary: None,
        sections: Vec::new(),
        findings: Vec::new(),
        environment: Vec::new(),
        statements: Vec::new(),
        trials: Table { rows: Vec::new(), ..report("").trials },
        ..report("")
    };
    let page = skeleton(&html(&empty));
    assert!(page.contains("<h2>All trials</h2>") && !page.contains("<h2>Summary</h2>"), "{page}");
}

/// "abc" is the first example of FIPS 180-4.
#[test]
fn the_policy_names_a_text_by_its_digest() {
    assert_eq!(policy_source("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}
