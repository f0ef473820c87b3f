//! The page in a browser: what a reader does with it, and what he must be able to rely on. Tests are skipped where there is no
//! Chromium.

mod chromium;
mod demo;

use super::runs;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use capbench_model::noise::Noise;
use capbench_report::figures;
use capbench_report::formats::html::html;
use capbench_report::model::{Cell, Chart, Kind, Point, Report, Role, Scale, Series, Unit};
use chromium::Tab;
use demo::{METHODS, SIZES, capacity};
use serde_json::{Value, json};

const THROUGHPUT: &str = "#chart-throughput";

fn open(report: &Report) -> Option<Tab> {
    let mut tab = Tab::open(&html(report))?;
    unfold(&mut tab);
    Some(tab)
}

/// Opens every folded table.
fn unfold(tab: &mut Tab) {
    tab.value("document.querySelectorAll('details.fold').forEach((fold) => { fold.open = true; }); null");
}

/// Scrolls to a chart; the place of its area in the window.
fn drawn(tab: &mut Tab, chart: &str) -> [f64; 4] {
    tab.place(&format!("{chart} .area"))
}

/// What is seen of a chart and in which colours, the cursor aside.
fn picture(tab: &mut Tab, chart: &str) -> String {
    tab.text(&format!(
        "[...document.querySelectorAll('{chart} .canvas > svg *:not(.cursor, .cursor *)')].map((one) => {{
            const {{ display, color, fill, stroke }} = getComputedStyle(one);
            return [one.tagName, display, color, fill, stroke].join(' ');
        }}).join('|')"
    ))
}

/// What the chart says about the place that it shows: the place, and of each series name, value and trials.
fn reading(tab: &mut Tab, chart: &str) -> (String, Vec<[String; 3]>) {
    let value = tab.value(&format!(
        "(() => {{
            const chart = document.querySelector('{chart}');
            const entries = [...chart.querySelectorAll('.legend li')].map((entry) =>
                ['button', '.value', '.from'].map((part) => entry.querySelector(part).textContent.trim()));
            return [chart.querySelector('.at strong')?.textContent ?? '', entries];
        }})()"
    ));
    serde_json::from_value(value).unwrap()
}

fn spoken(tab: &mut Tab, chart: &str) -> String {
    tab.text(&format!("document.querySelector('{chart} [aria-live]').textContent"))
}

fn rate(value: f64) -> String {
    format!("{} packets/s", figures::number(value, Unit::PacketsPerSecond))
}

#[test]
fn a_page_opens_without_errors_loads_nothing_and_runs_nothing_of_results() {
    let mut report = demo::report(20);
    report.title = demo::HOSTILE.into();
    report.findings[0].text = demo::HOSTILE.into();
    report.warnings.push(demo::HOSTILE.into());
    report.trials.rows[3].cells[1] = Cell::Text(demo::HOSTILE.into());
    for chart in report.sections.iter_mut().flat_map(|section| &mut section.charts) {
        chart.title = demo::HOSTILE.into();
        chart.x.label = demo::HOSTILE.into();
        chart.series[0].name = demo::HOSTILE.into();
    }
    report.sections[0].charts[0].marks[0].label = demo::HOSTILE.into();
    let Some(mut tab) = open(&report) else { return };
    for chart in ["throughput", "placement", "ledger", "loss-ratio", "cost", "work", "latency"] {
        let chart = format!("#chart-{chart}");
        let [left, top, width, height] = drawn(&mut tab, &chart);
        tab.mouse("mouseMoved", left + width / 2.0, top + height / 2.0);
        tab.click(&format!("{chart} summary"));
    }
    assert_eq!(tab.errors(), [""; 0]);
    assert_eq!(tab.requests(), [tab.address.clone()]);
    assert!(tab.text("document.title").contains("<script>"));
    // Should a writer ever forget to escape, the page's policy still holds.
    tab.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.harmed=3\">')");
    tab.value("document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.harmed=4' }))");
    tab.frame();
    assert!(tab.holds("window.harmed === undefined"));
    assert_eq!(tab.requests().len(), 2);
    assert_eq!(tab.refused(), 1, "the picture was asked for");
    assert!(!tab.errors().is_empty(), "the policy said nothing");
}

#[test]
fn the_legend_switches_series_off_and_on() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    drawn(&mut tab, THROUGHPUT);
    let before = picture(&mut tab, THROUGHPUT);
    let first = format!("{THROUGHPUT} .legend li:nth-child(1) button");
    tab.click(&first);
    assert!(tab.holds(&format!("document.querySelector('{first}').ariaPressed === 'false'")));
    assert_ne!(picture(&mut tab, THROUGHPUT), before);
    tab.value(&format!("document.querySelector('{first}').focus()"));
    tab.key("Enter");
    assert!(tab.holds(&format!("document.querySelector('{first}').ariaPressed === 'true'")));
    assert_eq!(picture(&mut tab, THROUGHPUT), before);
}

#[test]
fn the_pointer_shows_values_with_their_units_and_trials() {
    let Some(mut tab) = open(&demo::report(120)) else { return };
    let [left, top, width, height] = drawn(&mut tab, THROUGHPUT);
    let mut met = Vec::new();
    for step in 0..=20 {
        tab.mouse("mouseMoved", left + 1.0 + (width - 2.0) * f64::from(step) / 20.0, top + height / 2.0);
        tab.frame();
        let (place, entries) = reading(&mut tab, THROUGHPUT);
        let size =
            SIZES.iter().position(|size| place == format!("{} bytes", figures::count(u64::from(*size))));
        let nth = size.unwrap_or_else(|| panic!("{place}"));
        for (rank, method) in METHODS.iter().enumerate() {
            let first = (rank * SIZES.len() + nth) * 3 + 1;
            let exact = capacity(rank, SIZES[nth]);
            let unknown = rank == 3 && nth == 2;
            assert_eq!(entries[rank][0], *method);
            assert_eq!(entries[rank][1], if unknown { "unknown".into() } else { rate(exact) });
            let trials = format!("{first} to {}", first + 2);
            assert!(entries[rank][2].ends_with(&trials), "{:?}", entries[rank]);
        }
        met.push(nth);
    }
    met.dedup();
    assert_eq!(met, [0, 1, 2, 3, 4, 5, 6]);
    // Kept by a click, the values stay, and their trials can be gone to.
    tab.click_at(left + 2.0, top + height / 2.0);
    tab.mouse("mouseMoved", left + width / 2.0, top + height / 2.0);
    assert_eq!(reading(&mut tab, THROUGHPUT).0, "64 bytes");
    tab.click(&format!("{THROUGHPUT} .legend li:nth-child(2) .from summary"));
    tab.click(&format!("{THROUGHPUT} .legend li:nth-child(2) .from a"));
    assert_eq!(tab.text("location.hash"), "#trial-22");
    let cited = tab.value("[...document.querySelectorAll('tr.cited')].map((row) => row.id)");
    assert_eq!(cited, json!(["trial-22", "trial-23", "trial-24"]));
    assert!(tab.holds("document.getElementById('trial-22').getBoundingClientRect().top < innerHeight"));
}

#[test]
fn bars_and_layers_are_read_where_the_pointer_is() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    let focus = |tab: &mut Tab, chart: &str| {
        tab.text(&format!("document.querySelector('{chart} .legend .focus button').textContent.trim()"))
    };
    let [left, top, width, height] = drawn(&mut tab, "#chart-placement");
    // Six series share the band of the first of three names, less its margins.
    let band = width / 3.0;
    let bar = band * 0.74 / 6.0;
    for (nth, method) in METHODS.iter().enumerate() {
        tab.mouse("mouseMoved", left + band / 2.0 + bar * (nth as f64 - 2.5), top + height * 0.9);
        tab.frame();
        assert_eq!(focus(&mut tab, "#chart-placement"), *method);
    }
    let [left, top, width, height] = drawn(&mut tab, "#chart-ledger");
    tab.mouse("mouseMoved", left + width * 0.97, top + height * 0.97);
    tab.frame();
    assert_eq!(focus(&mut tab, "#chart-ledger"), "delivered");
    tab.mouse("mouseMoved", left + width * 0.97, top + height * 0.3);
    tab.frame();
    assert_eq!(focus(&mut tab, "#chart-ledger"), "ring");
}

#[test]
fn the_keyboard_goes_through_points_and_says_them() {
    let Some(mut tab) = open(&demo::report(120)) else { return };
    tab.key("Tab");
    assert_eq!(tab.text("document.activeElement.textContent"), "To the content");
    tab.key("Enter");
    assert_eq!(tab.text("document.activeElement.id"), "content");
    drawn(&mut tab, THROUGHPUT);
    tab.value(&format!("document.querySelector('{THROUGHPUT} .canvas').focus()"));
    tab.key("ArrowRight");
    assert_eq!(reading(&mut tab, THROUGHPUT).0, "64 bytes");
    tab.key("ArrowRight");
    let announced = spoken(&mut tab, THROUGHPUT);
    let expected = format!("{}: {}", METHODS[2], rate(capacity(2, 128)));
    assert!(announced.starts_with("frame size 128 bytes. ") && announced.contains(&expected), "{announced}");
    tab.key("End");
    tab.key("ArrowRight");
    assert_eq!(reading(&mut tab, THROUGHPUT).0, "1,518 bytes");
    tab.key("Home");
    // From the lowest upwards: recv, the published figure, packet-v2.
    for _ in 0..METHODS.len() + 2 {
        tab.key("ArrowDown");
    }
    assert!(spoken(&mut tab, THROUGHPUT).contains(". recv: "), "{}", spoken(&mut tab, THROUGHPUT));
    tab.key("ArrowUp");
    assert!(spoken(&mut tab, THROUGHPUT).contains("PF_RING"), "{}", spoken(&mut tab, THROUGHPUT));
    tab.key("ArrowUp");
    let announced = spoken(&mut tab, THROUGHPUT);
    assert!(announced.contains(". packet-v2: ") && announced.ends_with(", 3 trials"), "{announced}");
    tab.key("Enter");
    assert_eq!(tab.text("location.hash"), "#trial-22");
    assert!(tab.holds("document.getElementById('trial-24').classList.contains('cited')"));
    assert_eq!(tab.errors(), [""; 0]);
}

/// The column of a table, as the exact values or the words in it.
fn column_of(tab: &mut Tab, table: &str, nth: usize) -> Value {
    tab.value(&format!(
        "[...document.querySelectorAll('{table} tbody tr')].map((row) => row.cells[{nth}].dataset.value ?? row.cells[{nth}].textContent)"
    ))
}

#[test]
fn tables_sort_by_exact_values_and_back_to_the_order_of_the_report() {
    let mut report = demo::report(20);
    let summary = report.summary.as_mut().unwrap();
    for (row, beyond) in summary.rows.iter_mut().zip([3, 1, 2, 1, 0]) {
        // These are one and the same as floating-point numbers.
        row.cells[4] = Cell::Count((1 << 60) + beyond);
    }
    let Some(mut tab) = open(&report) else { return };
    let table = "#table-summary";
    let head = |nth: usize| format!("{table} thead th:nth-child({nth}) button");
    tab.click(&head(5));
    assert_eq!(column_of(&mut tab, table, 0), json!(["af-xdp", "packet-v2", "libpcap", "packet-v3", "recv"]));
    assert!(
        tab.holds(&format!(
            "document.querySelector('{table} thead th:nth-child(5)').ariaSort === 'ascending'"
        ))
    );
    tab.click(&head(5));
    assert_eq!(column_of(&mut tab, table, 0), json!(["recv", "packet-v3", "packet-v2", "libpcap", "af-xdp"]));
    tab.click(&head(5));
    assert_eq!(column_of(&mut tab, table, 0), json!(METHODS));
    // What is unknown comes last in either direction, and the keyboard does the same.
    tab.value(&format!("document.querySelector('{}').focus()", head(3)));
    for last in ["unknown", "unknown"] {
        tab.key("Enter");
        assert_eq!(column_of(&mut tab, table, 2)[4], last);
    }
    tab.click(&head(1));
    assert_eq!(column_of(&mut tab, table, 0), json!(["af-xdp", "libpcap", "packet-v2", "packet-v3", "recv"]));
}

#[test]
fn colours_follow_the_system_until_the_reader_chooses() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    let background = "getComputedStyle(document.body).backgroundColor";
    drawn(&mut tab, THROUGHPUT);
    let (light, drawn_light) = (tab.text(background), picture(&mut tab, THROUGHPUT));
    tab.media("screen", "dark");
    tab.frame();
    let (dark, drawn_dark) = (tab.text(background), picture(&mut tab, THROUGHPUT));
    assert_ne!((&dark, &drawn_dark), (&light, &drawn_light));
    assert_ne!(drawn_dark, drawn_light);
    tab.click("#theme");
    assert_eq!((tab.text(background), picture(&mut tab, THROUGHPUT)), (light.clone(), drawn_light));
    tab.load();
    assert_eq!(tab.text(background), light, "the choice is kept");
    tab.click("#theme");
    assert_eq!(tab.text(background), dark);
}

#[test]
fn a_page_of_a_thousand_trials_is_small_and_opens() {
    let page = html(&demo::report(1000));
    println!("a page of 1,000 trials with 69 columns: {} bytes", page.len());
    assert!(page.len() < 5_000_000, "{}", page.len());
    let Some(mut tab) = Tab::open(&page) else { return };
    assert!(tab.holds("!document.querySelector('#trials details').open"), "it is folded");
    let times: Vec<_> = (0..3).map(|_| tab.load()).collect();
    println!("opened in {times:?}");
    unfold(&mut tab);
    assert_eq!(tab.number("document.querySelectorAll('#trials tbody tr').length"), 1000.0);
    let shown = "[...document.querySelectorAll('#trials tbody tr')].filter((row) => !row.hidden).length";
    tab.value(
        "(() => {
            const input = document.querySelector('#trials input');
            input.value = 'recv 1,518';
            input.dispatchEvent(new Event('input'));
        })()",
    );
    let left = tab.number(shown);
    assert!(left > 0.0 && left < 100.0, "{left}");
    tab.value("location.hash = '#trial-777'");
    tab.frame();
    assert!(
        tab.holds("document.getElementById('trial-777').getBoundingClientRect().height > 0"),
        "it was filtered out"
    );
}

/// Three methods of which every trial is noisy.
fn noisy_bench() -> Report {
    let mut results = runs::visited_bench();
    for trial in &mut results.trials {
        trial.noise.reasons.push(Noise::from_earlier("the host's foreign load"));
    }
    page_of(results)
}

#[test]
fn the_first_screen_of_a_phone_has_verdict_bars_facts_and_noise() {
    for (name, report) in [("demo", demo::report(60)), ("bench", noisy_bench())] {
        let Some(mut tab) = Tab::open(&html(&report)) else { return };
        tab.size(390, 844);
        tab.load();
        let mut end = |part: &str, end: &str| {
            tab.number(&format!("document.querySelector('{part}').getBoundingClientRect().{end}"))
        };
        let parts = ["#verdict", "#answer .canvas", "#facts", "#caveats .sentence"];
        let places = parts.map(|part| [end(part, "top"), end(part, "bottom")]);
        assert!(places.is_sorted_by(|[_, above], [below, _]| above <= below), "{name}: {places:?}");
        assert!(places[3][1] <= 844.0, "{name}: {places:?}");
        assert!(end("#answer .figures", "top") >= places[3][1], "{name}: figures come after the facts");
    }
}

#[test]
fn on_a_phone_only_boxes_scroll_sideways() {
    for report in [demo::report(60), noisy_bench()] {
        let Some(mut tab) = Tab::open(&html(&report)) else { return };
        tab.size(390, 844);
        tab.load();
        unfold(&mut tab);
        let wide = tab.value(
            "[...document.querySelectorAll('body *')].filter((one) => !one.closest('.box, .canvas, .skip')
                && one.getBoundingClientRect().right > 390.5).map((one) => one.outerHTML.slice(0, 80))",
        );
        assert_eq!(wide, json!([]));
        assert!(tab.holds("document.documentElement.scrollWidth <= 390"));
        let box_of_trials = "document.querySelector('#trials .box')";
        assert!(tab.holds(&format!("{box_of_trials}.scrollWidth > 2 * {box_of_trials}.clientWidth")));
        tab.value(&format!("{box_of_trials}.scrollLeft = 500"));
        tab.frame();
        let first = "document.querySelector('#trials tbody th').getBoundingClientRect().left";
        let edge = tab.number(&format!("{box_of_trials}.getBoundingClientRect().left"));
        assert!((tab.number(first) - edge).abs() < 2.0, "the first column stays");
    }
}

/// The page on A4: how many sheets it takes.
fn sheets(tab: &mut Tab) -> usize {
    let paper = tab.call(
        "Page.printToPDF",
        json!({ "preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69 }),
    );
    let paper = STANDARD.decode(paper["data"].as_str().unwrap()).unwrap();
    let paper = String::from_utf8_lossy(&paper).into_owned();
    paper.matches("/Type /Page\n").count()
}

/// Tables that are wider than the paper has room for.
fn cut_tables(tab: &mut Tab) -> Value {
    tab.media("print", "light");
    // A4, less its margins.
    tab.size(703, 1000);
    tab.frame();
    tab.value(
        "[...document.querySelectorAll('table')].filter((table) => table.getClientRects().length > 0)
            .filter((table) => table.getBoundingClientRect().right > document.body.getBoundingClientRect().right + 1)
            .map((table) => table.getAttribute('aria-labelledby'))",
    )
}

#[test]
fn a_bench_is_printed_on_up_to_six_sheets_and_every_printed_table_is_whole() {
    for (name, report) in [("bench", page_of(runs::bench())), ("noisy", noisy_bench())] {
        let Some(mut tab) = Tab::open(&html(&report)) else { return };
        let printed = sheets(&mut tab);
        assert!((1..=6).contains(&printed), "{name}: {printed}");
        assert_eq!(cut_tables(&mut tab), json!([]), "{name}");
        unfold(&mut tab);
        assert_eq!(cut_tables(&mut tab), json!([]), "{name}, every table unfolded");
    }
}

#[test]
fn the_chart_of_a_comparison_is_seen_whole_on_a_phone() {
    let Some(mut tab) = Tab::open(&html(&super::compared(&runs::compared::example()))) else { return };
    for (wide, high) in [(1280, 900), (390, 844)] {
        tab.size(wide, high);
        tab.load();
        let bottom =
            tab.number("document.querySelector('#chart-changes .canvas').getBoundingClientRect().bottom");
        assert!(bottom < f64::from(high), "{wide}: {bottom}");
        assert!(tab.holds(&format!("document.documentElement.scrollWidth <= {wide}")));
        let right = "Math.max(...[...document.querySelectorAll('#chart-changes text')].map((one) => one.getBoundingClientRect().right))";
        assert!(tab.number(right) <= f64::from(wide), "{wide}");
    }
    assert_eq!(tab.errors(), [""; 0]);
}

#[test]
fn paper_has_every_chart_in_light_colours_and_no_cut_table() {
    let Some(mut tab) = open(&demo::report(40)) else { return };
    tab.media("", "dark");
    let sheet = tab.call("Page.printToPDF", json!({ "preferCSSPageSize": true, "printBackground": false }));
    let sheet = STANDARD.decode(sheet["data"].as_str().unwrap()).unwrap();
    assert!(sheet.starts_with(b"%PDF"));
    let dark = picture(&mut tab, THROUGHPUT);
    tab.media("print", "dark");
    assert_ne!(picture(&mut tab, THROUGHPUT), dark, "paper is white, also where the screen is dark");
    tab.media("print", "light");
    let light = picture(&mut tab, THROUGHPUT);
    tab.value("document.documentElement.dataset.theme = 'dark'; null");
    assert_eq!(picture(&mut tab, THROUGHPUT), light, "and where the reader chose it");
    assert_eq!(cut_tables(&mut tab), json!([]));
    assert!(tab.holds("getComputedStyle(document.getElementById('theme')).display === 'none'"));
}

/// The page of a run, as the command writes it.
fn page_of(results: capbench_results::Results) -> Report {
    capbench_report::report::report(&super::run(results))
}

#[test]
fn pages_of_runs_begin_with_the_verdict_and_each_of_their_charts_can_be_read_and_switched() {
    let runs = [
        ("visited", runs::visited_bench()),
        ("sweep", runs::sweep()),
        ("search", runs::search()),
        ("reproduced", runs::reproduced::all()),
    ];
    for (name, results) in runs {
        let report = page_of(results);
        let Some(mut tab) = open(&report) else { return };
        assert_eq!(tab.text("document.querySelector('#verdict').textContent"), report.verdict.text, "{name}");
        let charts: Vec<&Chart> = report.charts().filter(|chart| !chart.kind.has_rows()).collect();
        assert!(!charts.is_empty(), "{name}");
        for chart in charts {
            let id = format!("#chart-{}", chart.id);
            let at = format!("{name}: {}", chart.title);
            drawn(&mut tab, &id);
            let before = picture(&mut tab, &id);
            let canvas = format!("document.querySelector('{id} .canvas')");
            tab.value(&format!("{canvas}.focus({{ preventScroll: true }})"));
            tab.key("Home");
            let (place, entries) = reading(&mut tab, &id);
            assert!(!place.is_empty() && entries.len() == chart.series.len(), "{at}: {entries:?}");
            assert!(entries.iter().any(|[_, value, _]| !value.is_empty()), "{at}: {entries:?}");
            let known: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
            assert_eq!(entries.iter().map(|[name, ..]| name.as_str()).collect::<Vec<_>>(), known, "{at}");
            let switch =
                |nth: usize| format!("document.querySelectorAll('{id} .legend button')[{nth}].click()");
            let all = (0..chart.series.len()).map(switch).collect::<Vec<_>>().join(";");
            tab.value(&format!("{all}; null"));
            tab.frame();
            assert_ne!(picture(&mut tab, &id), before, "{at}: switched off");
            tab.value(&format!("{all}; null"));
            tab.frame();
            assert_eq!(picture(&mut tab, &id), before, "{at}: switched on again");
        }
        assert_eq!(tab.errors(), [""; 0], "{name}");
        assert_eq!(tab.requests(), [tab.address.clone()], "{name}");
    }
}

#[test]
fn the_interval_of_a_sum_is_read_at_its_mark() {
    let report = page_of(runs::visited_bench());
    let chart =
        report.charts().find(|chart| chart.series.iter().any(|series| series.role == Role::Total)).unwrap();
    let Some(mut tab) = open(&report) else { return };
    let id = format!("#chart-{}", chart.id);
    drawn(&mut tab, &id);
    tab.value(&format!("document.querySelector('{id} .canvas').focus({{ preventScroll: true }})"));
    tab.key("Home");
    let (_, entries) = reading(&mut tab, &id);
    let total = chart.series.iter().position(|series| series.role == Role::Total).unwrap();
    let point = &chart.series[total].points[0];
    let expected = figures::number(point.y.unwrap(), chart.y.unit);
    assert!(entries[total][1].starts_with(&expected), "{entries:?}");
    assert!(entries[total][2].contains(" to ") && entries[total][2].contains("trials"), "{entries:?}");
}

/// What a run may well give, and what a writer must not stumble over.
#[test]
fn charts_of_little_or_odd_data_are_drawn() {
    let mut report = demo::report(5);
    let lines = report.sections[0].charts[0].clone();
    let chart = |id: &str, kind: Kind, scales: (Scale, Scale), lists: &[&[(f64, Option<f64>)]]| {
        let mut chart = Chart { id: id.into(), kind, ..lines.clone() };
        (chart.x.scale, chart.y.scale) = scales;
        chart.series = lists
            .iter()
            .enumerate()
            .map(|(nth, points)| Series {
                name: format!("method {nth} with a name that is much longer than names are"),
                role: Role::Method,
                points: points
                    .iter()
                    .map(|&(x, y)| Point { x, y, interval: None, is_at_least: false, trials: vec![1, 99] })
                    .collect(),
            })
            .collect();
        chart
    };
    let even = || (Scale::Linear, Scale::Linear);
    let powers = || (Scale::Logarithmic, Scale::Logarithmic);
    let many: Vec<(f64, Option<f64>)> =
        (0..5000).map(|x| (f64::from(x), (x % 7 != 0).then_some(f64::from(x % 100)))).collect();
    let forty = vec![&many[..20]; 40];
    let names =
        Scale::Names((0..30).map(|nth| format!("a placement with the number {nth}, and more")).collect());
    report.sections[0].charts = vec![
        chart("nothing", Kind::Lines, even(), &[]),
        chart("empty", Kind::Stacked, even(), &[&[]]),
        chart("unknown", Kind::Lines, even(), &[&[(1.0, None), (2.0, None)]]),
        chart("one", Kind::Points, even(), &[&[(5.0, Some(7.0))]]),
        chart("zeros", Kind::Lines, powers(), &[&[(0.0, Some(0.0)), (0.0, Some(0.0))]]),
        chart(
            "below",
            Kind::StackedBars,
            even(),
            &[&[(1.0, Some(3.0))], &[(1.0, Some(-2.0)), (2.0, Some(-4.0))]],
        ),
        chart("wide", Kind::Lines, powers(), &[&[(1e-12, Some(1e-15)), (1e15, Some(1e18))]]),
        chart("many", Kind::Lines, even(), &[&many]),
        chart("forty", Kind::Bars, even(), &forty),
        chart("names", Kind::Stacked, (names, Scale::Linear), &[&many[..30], &many[30..60]]),
        chart("same", Kind::Points, powers(), &[&[(3.0, Some(2.0)), (3.0, Some(2.0)), (3.0, None)]]),
    ];
    let ids: Vec<String> =
        report.sections[0].charts.iter().map(|chart| format!("#chart-{}", chart.id)).collect();
    let Some(mut tab) = open(&report) else { return };
    for width in [1280, 390] {
        tab.size(width, 900);
        for id in &ids {
            let [left, top, across, down] = drawn(&mut tab, id);
            assert!(across > 150.0 && down > 100.0, "{id}: {across} by {down}");
            tab.mouse("mouseMoved", left + across / 2.0, top + down / 2.0);
            tab.value(&format!("document.querySelector('{id} .canvas').focus()"));
            for key in ["ArrowRight", "ArrowUp", "End", "Escape"] {
                tab.key(key);
            }
            tab.click(&format!("{id} summary"));
        }
    }
    assert_eq!(tab.errors(), [""; 0]);
}
