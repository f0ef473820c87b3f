//! Drawings of every kind, of ordinary and of impossible values.

use proptest::prelude::*;

use super::{Spot, embedded, svg};
use crate::chart::{Axis, Chart, Kind, Mark, Place, Point, Role, Scale, Series, Unit};
use crate::palette::Palette;

const KINDS: [Kind; 7] =
    [Kind::Lines, Kind::Points, Kind::Stacked, Kind::Bars, Kind::StackedBars, Kind::Ranked, Kind::Forest];

fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.into(), unit, scale }
}

fn point(x: f64, y: Option<f64>) -> Point {
    Point { x, y, interval: None, is_at_least: false, trials: vec![1] }
}

fn chart(kind: Kind, points: &[(f64, Option<f64>)]) -> Chart {
    Chart {
        id: "loss against load".into(),
        title: "Delivered, 64-byte frames <same>".into(),
        kind,
        x: axis("Offered", Unit::PacketsPerSecond, Scale::Linear),
        y: axis("Delivered & lost", Unit::PacketsPerSecond, Scale::Linear),
        series: vec![Series {
            name: "packet-v3, \"placement\" same".into(),
            role: Role::Method,
            points: points.iter().map(|(x, y)| point(*x, *y)).collect(),
        }],
        marks: Vec::new(),
        notes: vec!["Take care: 1 < 2 & 3 > 2.".into()],
    }
}

/// Whether every element ends where it should and attributes are quoted: as much of XML as the writer uses.
fn check(text: &str) -> Result<(), String> {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(begin) = rest.find('<') {
        let between = &rest[..begin];
        if between.contains('>') {
            return Err(format!("a bare > in {between:?}"));
        }
        entities(between)?;
        let end = begin + rest[begin..].find('>').ok_or("an element without an end")?;
        let element = &rest[begin + 1..end];
        entities(element)?;
        if element.matches('"').count() % 2 == 1 || element.contains('<') {
            return Err(format!("attributes of {element:?}"));
        }
        if let Some(name) = element.strip_prefix('/') {
            if open.pop() != Some(name) {
                return Err(format!("{name} ends, which did not begin last"));
            }
        } else if !element.ends_with('/') {
            open.push(element.split(' ').next().unwrap_or(""));
        }
        rest = &rest[end + 1..];
    }
    if open.is_empty() && rest.trim().is_empty() { Ok(()) } else { Err(format!("{open:?} is left open")) }
}

fn entities(text: &str) -> Result<(), String> {
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];
        if !known.iter().any(|entity| text[at..].starts_with(entity)) {
            return Err(format!("a bare & in {text:?}"));
        }
    }
    Ok(())
}

fn sound(chart: &Chart) -> String {
    let text = svg(chart, &Palette::of([chart]));
    check(&text).unwrap_or_else(|why| panic!("{why}\n{text}"));
    for wrong in ["NaN", "inf", "null", "None"] {
        assert!(!text.contains(wrong), "{wrong} in {text}");
    }
    text
}

#[test]
fn everything_that_a_chart_says_is_in_its_drawing() {
    let mut chart =
        chart(Kind::Lines, &[(1e5, Some(1e5)), (2e5, None), (3e5, Some(2.5e5)), (4e5, Some(2.4e5))]);
    chart.series[0].points[2].interval = Some([2.4e5, 2.6e5]);
    chart.marks = vec![
        Mark { label: "line rate".into(), at: Place::Y(3e5) },
        Mark { label: "NDR".into(), at: Place::X(2.2e5) },
        Mark { label: "far away".into(), at: Place::Y(9e9) },
        Mark { label: "a curve".into(), at: Place::Curve(vec![[1e5, 9e9], [4e5, 2e5]]) },
    ];
    let text = sound(&chart);
    for said in [
        "Delivered, 64-byte frames &lt;same&gt;",
        "Offered (thousand packets/s)",
        "Delivered &amp; lost (thousand packets/s)",
        "packet-v3, &quot;placement&quot; same",
        ">line rate<",
        ">NDR<",
        ">a curve<",
        "far away at 9,000,000,000 packets/s is beyond what is drawn.",
        "1 point is unknown and not drawn.",
        "1 &lt; 2 &amp; 3 &gt; 2.",
        "; trials 1<",
        "(240,000 packets/s to 260,000 packets/s)",
    ] {
        assert!(text.contains(said), "{said} in {text}");
    }
    // One point alone before the unknown one, two behind it.
    assert_eq!(text.matches("stroke-linejoin").count(), 1, "{text}");
}

#[test]
fn lying_bars_have_a_row_with_its_values_for_each_name() {
    let mut chart = chart(Kind::Ranked, &[(0.0, Some(1.42e6)), (1.0, Some(7e5))]);
    chart.x.scale = Scale::Names(vec!["packet-v3".into(), "recv".into(), "libpcap".into()]);
    chart.series[0].points[0].is_at_least = true;
    chart.series[0].points[1].interval = Some([7e5, 1e6]);
    let text = sound(&chart);
    for said in [">packet-v3<", ">≥ 1.42<", ">recv<", ">0.7<", ">libpcap<", ">?<", ">million packets/s<"] {
        assert!(text.contains(said), "{said} in {text}");
    }
    assert!(text.contains("width=\"96.15%\"") && text.contains("width=\"47.4%\""), "{text}");
    assert_eq!(text.matches("<line ").count(), 1, "a line for the interval: {text}");
    let page = embedded(&chart, &Palette::of([&chart]));
    assert!(page.plot.contains("width=\"100%\"") && !page.plot.contains("viewBox"), "{}", page.plot);
    assert_eq!(
        page.spots,
        [[Some(Spot { axis_px: 0.0, shape_px: None }), Some(Spot { axis_px: 1.0, shape_px: None })]]
    );
}

#[test]
fn a_forest_plot_has_a_row_with_its_interval_for_each_name_and_cuts_one_that_is_too_long() {
    let mut chart = chart(Kind::Forest, &[(0.0, Some(0.18)), (1.0, Some(-0.02))]);
    chart.x.scale = Scale::Names(vec!["recv CPU time".into(), "recv delivered".into(), "loss".into()]);
    chart.y = axis("Change", Unit::Ratio, Scale::Linear);
    chart.marks = [-0.05, 0.05].map(|at| Mark { label: "threshold".into(), at: Place::Y(at) }).to_vec();
    chart.series[0].points[0].interval = Some([0.1, 0.26]);
    let line = "stroke-width=\"1.2\" x1=";
    let one = sound(&chart);
    for said in
        [">recv CPU time<", ">+18 %<", ">recv delivered<", ">-2 %<", ">loss<", ">?<", ">Change (%)<", ">0<"]
    {
        assert!(one.contains(said), "{said} in {one}");
    }
    // Each row has a line at 0; the interval is a line with two ends.
    assert_eq!(one.matches(line).count(), 3 + 3, "{one}");
    chart.series[0].points[1].interval = Some([-0.3, 5.0]);
    let cut = sound(&chart);
    assert_eq!(cut.matches(line).count(), 3 + 3 + 2, "one of its ends is beyond the axis: {cut}");
}

#[test]
fn a_chart_without_numbers_says_so() {
    assert!(sound(&chart(Kind::Lines, &[])).contains("nothing is known that could be drawn"));
    let bare = Chart { series: Vec::new(), ..chart(Kind::Bars, &[]) };
    assert!(sound(&bare).contains("nothing is known"));
}

#[test]
fn layers_stand_on_each_other_and_what_is_below_zero_hangs() {
    let mut chart = chart(Kind::StackedBars, &[(0.0, Some(3.0)), (1.0, Some(3.0))]);
    chart.series.push(Series {
        name: "in the ring or socket queue".into(),
        role: Role::Place,
        points: vec![point(0.0, Some(2.0)), point(1.0, None)],
    });
    chart.series.push(Series {
        name: "unexplained".into(),
        role: Role::Unexplained,
        points: vec![point(0.0, Some(-1.0)), point(1.0, Some(1.0))],
    });
    let layers: Vec<Vec<Option<(f64, f64)>>> = super::shapes::layers(&chart)
        .into_iter()
        .map(|layers| layers.into_iter().map(|layer| layer.map(|layer| (layer.low, layer.high))).collect())
        .collect();
    assert_eq!(
        layers,
        [
            vec![Some((0.0, 3.0)), Some((0.0, 3.0))],
            vec![Some((3.0, 5.0)), None],
            vec![Some((-1.0, 0.0)), Some((3.0, 4.0))]
        ]
    );
    let text = sound(&chart);
    assert!(
        text.contains("url(#hatch-loss-against-load)") && text.contains("id=\"hatch-loss-against-load\"")
    );
}

#[test]
fn zeros_on_a_logarithmic_axis_are_said() {
    let mut chart = chart(Kind::Lines, &[(1.0, Some(0.0)), (2.0, Some(0.1))]);
    chart.y.scale = Scale::Logarithmic;
    assert!(sound(&chart).contains("drawn at its edge"));
}

#[test]
fn points_of_one_name_are_drawn_and_read_next_to_each_other() {
    for kind in [Kind::Points, Kind::Bars] {
        let mut chart = chart(kind, &[(0.0, Some(1.0)), (1.0, None)]);
        chart.x.scale = Scale::Names(vec!["one".into(), "two".into()]);
        chart.series.push(Series { name: "recv".into(), ..chart.series[0].clone() });
        let part = embedded(&chart, &Palette::of([&chart]));
        let spots: Vec<_> = part.spots.iter().map(|own| own[0].unwrap()).collect();
        assert_eq!(spots[0].axis_px, spots[1].axis_px);
        let [first, second] = [0, 1].map(|nth| spots[nth].shape_px.unwrap()[0]);
        assert!(first < spots[0].axis_px && spots[0].axis_px < second, "{spots:?}");
        assert_eq!(part.spots[0][1].unwrap().shape_px, None, "what is unknown has a place only");
        if kind == Kind::Points {
            assert!(part.plot.contains(&format!("cx=\"{}\"", super::pen::pixels(first))), "{}", part.plot);
        }
    }
}

fn value() -> impl Strategy<Value = f64> {
    prop_oneof![
        6 => -1e7..1e7f64,
        2 => 0.0..1.0f64,
        1 => any::<f64>(),
        1 => Just(0.0),
    ]
}

prop_compose! {
    fn some_point()(x in value(), y in prop::option::weighted(0.9, value()), ends in prop::option::of([value(), value()])) -> Point {
        Point { x, y, interval: ends, is_at_least: false, trials: vec![7] }
    }
}

fn some_scale() -> impl Strategy<Value = Scale> {
    prop_oneof![
        Just(Scale::Linear),
        Just(Scale::Logarithmic),
        prop::collection::vec("\\PC{0,40}", 0..12).prop_map(Scale::Names),
    ]
}

fn some_unit() -> impl Strategy<Value = Unit> {
    prop::sample::select(vec![
        Unit::None,
        Unit::Count,
        Unit::PacketsPerSecond,
        Unit::BitsPerSecondL1,
        Unit::Nanoseconds,
        Unit::NanosecondsPerPacket,
        Unit::Seconds,
        Unit::Bytes,
        Unit::Ratio,
        Unit::Cores,
        Unit::Iterations,
        Unit::PerSecond,
    ])
}

fn some_role() -> impl Strategy<Value = Role> {
    prop::sample::select(vec![
        Role::Method,
        Role::Delivered,
        Role::Place,
        Role::Unexplained,
        Role::Published,
        Role::Fit,
        Role::Account,
        Role::Judgement,
    ])
}

#[test]
fn a_value_of_which_only_the_range_is_known_is_drawn_and_said_as_one() {
    let mut costs = chart(Kind::Ranked, &[(0.0, None), (1.0, Some(1000.0)), (2.0, None)]);
    costs.x.scale = Scale::Names(["packet-v3", "recv", "libpcap"].map(String::from).to_vec());
    costs.y.unit = Unit::NanosecondsPerPacket;
    costs.series[0].points[0].interval = Some([20.0, 224.0]);
    let drawn = svg(&costs, &Palette::of([&costs]));
    for text in [">20 to 224<", ">1,000<", ">?<"] {
        assert!(drawn.contains(text), "{text} in {drawn}");
    }
    assert_eq!(drawn.matches("<line class=\"ink\"").count(), 1, "the range is a line: {drawn}");
}

prop_compose! {
    fn some_series()(name in "\\PC{0,30}", role in some_role(), points in prop::collection::vec(some_point(), 0..12)) -> Series {
        Series { name, role, points }
    }
}

fn some_mark() -> impl Strategy<Value = Mark> {
    let at = prop_oneof![
        value().prop_map(Place::X),
        value().prop_map(Place::Y),
        prop::collection::vec([value(), value()], 0..6).prop_map(Place::Curve),
    ];
    ("\\PC{0,60}", at).prop_map(|(label, at)| Mark { label, at })
}

proptest! {
    #[test]
    fn whatever_the_chart_the_drawing_is_sound(
        text in "\\PC{0,200}",
        kind in prop::sample::select(KINDS.to_vec()),
        scales in (some_scale(), some_scale()),
        units in (some_unit(), some_unit()),
        series in prop::collection::vec(some_series(), 0..6),
        marks in prop::collection::vec(some_mark(), 0..5),
    ) {
        let chart = Chart {
            id: text.clone(),
            title: text.clone(),
            kind,
            x: axis(&text, units.0, scales.0),
            y: axis("up", units.1, scales.1),
            series,
            marks,
            notes: vec![text],
        };
        let drawn = svg(&chart, &Palette::of([&chart]));
        prop_assert_eq!(check(&drawn), Ok(()));
        let part = embedded(&chart, &Palette::of([&chart]));
        prop_assert_eq!(check(&part.plot), Ok(()));
        for spot in part.spots.iter().flatten().flatten() {
            let [_, top, bottom] = spot.shape_px.unwrap_or_default();
            prop_assert!(spot.axis_px.is_finite() && top <= bottom + 0.01, "{:?}", spot);
        }
        // Words of the chart may have these letters; numbers of the drawing may not.
        for number in drawn.split('"').skip(1).step_by(2) {
            prop_assert!(!number.contains("NaN") && number != "inf" && number != "-inf", "{}", number);
        }
    }
}
