//! Pages of a small report.

use super::{Report, SCRIPT, STYLE, THEME, digest, html};
use crate::model::{
    Axis, Cell, Chart, Column, Kind, Mark, Place, Point, Role, Row, Scale, Section, Sentence, Series, Table,
    Unit,
};

/// A name that tries to become a script, an image and an attribute.
const HOSTILE: &str = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" ' &";

/// Two methods, `name` and `recv`, with numbers that a page rounds, a lower bound and an unknown share. Only the trials 1 to 3 of
/// [`report`] have rows; 99 has none.
fn table(id: &str, name: &str) -> Table {
    let columns = vec![
        Column::words("method", "method"),
        Column::figure("delivered_pps", "delivered"),
        Column::figure("loss_ratio", "loss"),
    ];
    let rows = vec![
        Row::new(vec![name.into(), 1_234_567.75.into(), 0.000_000_2.into()], vec![1, 2, 3, 99]),
        Row::new(vec!["recv".into(), Cell::AtLeast(900_000.0), Cell::Unknown], vec![2]),
    ];
    let table = Table::with_rows(id, &format!("{name}, 64 bytes"), columns, rows);
    table.unwrap().with_notes([format!("A note on {name}.")])
}

/// A sentence about trial 1.
fn sentence(text: String) -> Sentence {
    Sentence { text, trials: vec![1] }
}

/// A chart of one series: a known point at 64, an unknown one at 128, and one that has no position. One of its marks has none.
fn chart(name: &str) -> Chart {
    let axis = |label: &str, unit| Axis { label: label.into(), unit, scale: Scale::Linear };
    let point =
        |x, y| Point { x, y, interval: y.map(|y| [y - 1.0, y + 1.0]), is_at_least: false, trials: vec![1] };
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

/// A report with something in every part, and `name` in every text.
fn report(name: &str) -> Report {
    let trial =
        |number: u32| Row::new(vec![number.into(), name.into(), Cell::Signed(-3), Cell::Empty], vec![number]);
    let columns = vec![
        Column::words("trial", "trial"),
        Column::words("method", "method"),
        Column::new("unexplained", "unexplained", Unit::Count),
        Column::new("cost", "cost", Unit::NanosecondsPerPacket),
    ];
    let trials =
        Table::with_rows("trials", "Every trial", columns, vec![trial(1), trial(2), trial(3)]).unwrap();
    Report {
        title: format!("bench of {name}"),
        subtitle: format!("capbench bench --method {name}"),
        verdict: sentence(format!("{name} captures every packet.")),
        picture: Vec::new(),
        details: Vec::new(),
        caveats: vec![sentence(format!("{name} is noisy."))],
        disturbers: None,
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
        trials,
    }
}

/// The page without its styles and scripts, which are the same on every page, and without their digests.
fn skeleton(page: &str) -> String {
    let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0.to_owned();
    assert!(style.starts_with(STYLE));
    let mut page = page.to_owned();
    for text in [&style, THEME, SCRIPT] {
        page = page.replace(&digest(text), "'sha256-...'").replace(text, "...");
    }
    page
}

#[test]
fn a_small_page_has_this_skeleton() {
    insta::assert_snapshot!(skeleton(&html(&report("packet-v3"))));
}

#[test]
fn names_in_results_stay_text() {
    let page = skeleton(&html(&report(HOSTILE)));
    assert_eq!(page.matches("<script").count(), 2, "{page}");
    assert_eq!(page.matches("</script>").count(), 2, "{page}");
    assert!(!page.contains("<img"), "{page}");
    let name = page.split("Rates of ").nth(1).unwrap();
    assert!(name.starts_with("&lt;"), "{name}");
}

#[test]
fn commands_between_backticks_are_code_and_stay_text() {
    let mut report = report("packet-v3");
    report.findings = vec![
        sentence("To decide: `capbench search --method '<b>'`, or `capbench bench`.".into()),
        sentence("One ` is text.".into()),
    ];
    let page = skeleton(&html(&report));
    let code = "<code><span>capbench</span> <span>search</span> <span>--method</span> <span>&#x27;&lt;b&gt;&#x27;</span></code>, \
                or <code><span>capbench</span> <span>bench</span></code>.";
    assert!(page.contains(code), "{page}");
    assert!(page.contains("One ` is text."), "{page}");
}

#[test]
fn nothing_is_loaded_and_nothing_is_sent() {
    let page = html(&report("packet-v3"));
    // A browser fetches and sends only by one of these.
    for loads in
        ["src=", "<link", "<iframe", "@import", "fetch(", "XMLHttpRequest", "WebSocket", "sendBeacon"]
    {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.split("url(").skip(1).all(|target| target.starts_with('#')), "links within the page only");
    for link in page.split("href=\"").skip(1) {
        assert!(link.starts_with('#'), "{}", &link[..20]);
    }
    assert!(page.contains("default-src 'none'; script-src 'sha256-"));
}

#[test]
fn scripts_and_styles_end_where_they_should() {
    for text in [STYLE, THEME, SCRIPT] {
        // A browser ends a script or style at the first of these, even within a string or a comment.
        let lower = text.to_lowercase();
        assert!(!lower.contains("</script") && !lower.contains("</style") && !lower.contains("<!--"));
        // A browser reads a carriage return as a line feed: the digest would be another.
        assert!(!text.contains('\r'));
    }
}

/// The numbers of a row's `data-spot`.
fn spot(row: &str) -> Vec<f64> {
    let (_, after) = row.split_once("data-spot=\"").unwrap();
    let (numbers, _) = after.split_once('"').unwrap();
    numbers.split(' ').map(|number| number.parse().unwrap()).collect()
}

#[test]
fn every_point_with_a_position_is_in_the_table_of_its_chart_and_says_where_it_is_drawn() {
    let page = html(&report("packet-v3"));
    let rows: Vec<&str> = page.lines().filter(|line| line.contains("data-spot=")).collect();
    // The third point of the chart has no position: its x is NaN.
    let [known, unknown] = rows.as_slice() else { panic!("{rows:?}") };
    for part in [">64</th>", ">packet-v3</td>", ">5</td>", ">4</td>", ">6</td>", "data-trials=\"1\""] {
        assert!(known.contains(part), "{part} in {known}");
    }
    assert!(unknown.contains(">128</th>") && unknown.contains("unknown"), "{unknown}");
    let [_, axis, middle, _, _] = spot(known)[..] else { panic!("{known}") };
    let [_, axis_of_unknown] = spot(unknown)[..] else { panic!("{unknown}") };
    assert!(axis < axis_of_unknown);
    let marker = format!("cx=\"{:.0}", middle.floor());
    assert!(page.contains(&marker), "{marker}");
    assert!(page.contains("<li>packet-v3 at 8 packets&#x2f;s</li>"), "the mark at a value");
    assert!(page.contains("<li>nowhere at"), "a mark that cannot be drawn is listed");
}

/// The example of FIPS 180-4.
#[test]
fn digests_are_those_of_the_standard() {
    assert_eq!(digest("abc"), "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='");
}

#[test]
fn a_report_with_nothing_in_it_is_a_page() {
    let empty = Report {
        details: Vec::new(),
        caveats: Vec::new(),
        disturbers: None,
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
    assert!(page.contains("id=\"trials\"") && !page.contains("id=\"summary\""), "{page}");
}
