//! The page in a browser: what a reader does with it, and what he relies on. Without Chromium the tests are skipped.

mod browser;
mod demo;
mod tab;

use std::mem::discriminant;

use super::runs;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use capbench_model::noise::Noise;
use capbench_report::figures;
use capbench_report::formats::html::html;
use capbench_report::model::{Cell, Chart, Kind, Point, Report, Role, Scale, Series, Unit};
use capbench_results::Results;
use demo::{METHODS, SIZES, capacity};
use serde::Deserialize;
use serde_json::{Value, json};
use tab::{Rectangle, Tab};

/// The first chart of the demo.
const THROUGHPUT: &str = "#chart-throughput";

/// The page of a report with all its tables unfolded; `None` without a browser.
fn open(report: &Report) -> Option<Tab> {
    let mut tab = Tab::open(&html(report))?;
    unfold(&mut tab);
    Some(tab)
}

/// Unfolds all tables.
fn unfold(tab: &mut Tab) {
    tab.value("document.querySelectorAll('details.fold').forEach((fold) => { fold.open = true; }); null");
}

/// Scrolls to a chart, and returns where its drawing is in the window. A chart is drawn when it comes into view.
fn scroll_to_drawing(tab: &mut Tab, chart: &str) -> Rectangle {
    tab.scroll_to(&format!("{chart} .area"))
}

/// The elements of a chart with their visibility and colours, without the cursor.
fn appearance(tab: &mut Tab, chart: &str) -> String {
    tab.text(&format!(
        "[...document.querySelectorAll('{chart} .canvas > svg *:not(.cursor, .cursor *)')].map((one) => {{
            const {{ display, color, fill, stroke }} = getComputedStyle(one);
            return [one.tagName, display, color, fill, stroke].join(' ');
        }}).join('|')"
    ))
}

/// What a chart shows at its cursor.
#[derive(Debug, Deserialize)]
struct Reading {
    /// The position on the horizontal axis: `64 bytes`.
    position: String,
    /// An entry for each series, as in the legend.
    entries: Vec<Entry>,
}

/// An entry of a chart's legend.
#[derive(Debug, Deserialize)]
struct Entry {
    name: String,
    value: String,
    /// The interval, and the trials behind the value.
    evidence: String,
}

/// What a chart shows at its cursor.
fn reading(tab: &mut Tab, chart: &str) -> Reading {
    let value = tab.value(&format!(
        "(() => {{
            const chart = document.querySelector('{chart}');
            const text = (entry, part) => entry.querySelector(part).textContent.trim();
            const entries = [...chart.querySelectorAll('.legend li')].map((entry) => ({{
                name: text(entry, 'button'),
                value: text(entry, '.value'),
                evidence: text(entry, '.from'),
            }}));
            return {{ position: chart.querySelector('.at strong')?.textContent ?? '', entries }};
        }})()"
    ));
    serde_json::from_value(value).unwrap()
}

/// What a screen reader says about a chart.
fn spoken(tab: &mut Tab, chart: &str) -> String {
    tab.text(&format!("document.querySelector('{chart} [aria-live]').textContent"))
}

/// Moves the keyboard's focus to an element, without scrolling.
fn focus(tab: &mut Tab, selector: &str) {
    tab.value(&format!("document.querySelector('{selector}').focus({{ preventScroll: true }})"));
}

/// A rate as a page shows it.
fn rate(pps: f64) -> String {
    format!("{} packets/s", figures::number(pps, Unit::PacketsPerSecond))
}

/// The demo with a hostile name in every text that results can contain.
fn hostile_report() -> Report {
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
    report
}

#[test]
fn a_page_opens_without_errors_loads_nothing_and_runs_nothing_of_results() {
    let Some(mut tab) = open(&hostile_report()) else { return };
    for chart in ["throughput", "placement", "ledger", "loss-ratio", "cost", "work", "latency"] {
        let chart = format!("#chart-{chart}");
        let Rectangle { left, top, width, height } = scroll_to_drawing(&mut tab, &chart);
        tab.move_mouse(left + width / 2.0, top + height / 2.0);
        tab.click(&format!("{chart} summary"));
    }
    assert_eq!(tab.errors(), [""; 0]);
    assert_eq!(tab.requests(), [tab.address.clone()]);
    assert!(tab.text("document.title").contains("<script>"));
    assert!(tab.holds("window.harmed === undefined"));
}

#[test]
fn the_policy_of_a_page_refuses_scripts_and_pictures_of_an_unescaped_text() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    tab.value("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.harmed=3\">')");
    tab.value("document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.harmed=4' }))");
    tab.frame();
    assert!(tab.holds("window.harmed === undefined"));
    assert_eq!(tab.requests().len(), 2, "the page and the picture");
    assert_eq!(tab.refused(), 1, "the picture");
    assert!(!tab.errors().is_empty(), "the browser reports what the policy refuses");
}

#[test]
fn the_legend_switches_series_off_and_on() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    scroll_to_drawing(&mut tab, THROUGHPUT);
    let before = appearance(&mut tab, THROUGHPUT);
    let first_series = format!("{THROUGHPUT} .legend li:nth-child(1) button");
    tab.click(&first_series);
    assert!(tab.holds(&format!("document.querySelector('{first_series}').ariaPressed === 'false'")));
    assert_ne!(appearance(&mut tab, THROUGHPUT), before);
    tab.value(&format!("document.querySelector('{first_series}').focus()"));
    tab.key("Enter");
    assert!(tab.holds(&format!("document.querySelector('{first_series}').ariaPressed === 'true'")));
    assert_eq!(appearance(&mut tab, THROUGHPUT), before);
}

/// Checks the entries of the demo's first chart at the size with this index.
fn check_entries(entries: &[Entry], size: usize) {
    for (index, method) in METHODS.iter().enumerate() {
        let entry = &entries[index];
        assert_eq!(entry.name, *method);
        let is_unknown = *method == "libpcap" && SIZES[size] == 256;
        let value = if is_unknown { "unknown".into() } else { rate(capacity(index, SIZES[size])) };
        assert_eq!(entry.value, value);
        let first_trial = (index * SIZES.len() + size) * 3 + 1;
        let trials = format!("{first_trial} to {}", first_trial + 2);
        assert!(entry.evidence.ends_with(&trials), "{entry:?}");
    }
}

#[test]
fn the_pointer_shows_values_with_their_units_and_trials() {
    let Some(mut tab) = open(&demo::report(120)) else { return };
    let Rectangle { left, top, width, height } = scroll_to_drawing(&mut tab, THROUGHPUT);
    let mut shown_sizes = Vec::new();
    // From a pixel within the left edge to one within the right edge.
    for step in 0..=20 {
        tab.move_mouse(left + 1.0 + (width - 2.0) * f64::from(step) / 20.0, top + height / 2.0);
        tab.frame();
        let Reading { position, entries } = reading(&mut tab, THROUGHPUT);
        let size =
            SIZES.iter().position(|size| position == format!("{} bytes", figures::count((*size).into())));
        let size = size.unwrap_or_else(|| panic!("{position}"));
        check_entries(&entries, size);
        shown_sizes.push(size);
    }
    shown_sizes.dedup();
    assert_eq!(shown_sizes, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_click_keeps_values_so_that_their_trials_can_be_followed() {
    let Some(mut tab) = open(&demo::report(120)) else { return };
    let Rectangle { left, top, width, height } = scroll_to_drawing(&mut tab, THROUGHPUT);
    tab.click_at(left + 2.0, top + height / 2.0);
    tab.move_mouse(left + width / 2.0, top + height / 2.0);
    assert_eq!(reading(&mut tab, THROUGHPUT).position, "64 bytes");
    // The second method has the trials 22 to 24 at its first size.
    tab.click(&format!("{THROUGHPUT} .legend li:nth-child(2) .from summary"));
    tab.click(&format!("{THROUGHPUT} .legend li:nth-child(2) .from a"));
    assert_eq!(tab.text("location.hash"), "#trial-22");
    let cited = tab.value("[...document.querySelectorAll('tr.cited')].map((row) => row.id)");
    assert_eq!(cited, json!(["trial-22", "trial-23", "trial-24"]));
    assert!(tab.holds("document.getElementById('trial-22').getBoundingClientRect().top < innerHeight"));
}

/// The series whose entry in a chart's legend is highlighted.
fn highlighted_series(tab: &mut Tab, chart: &str) -> String {
    tab.text(&format!("document.querySelector('{chart} .legend .focus button').textContent.trim()"))
}

#[test]
fn the_bar_at_the_pointer_is_highlighted() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    let Rectangle { left, top, width, height } = scroll_to_drawing(&mut tab, "#chart-placement");
    // Six series share the band of the first of three names: 74 % of it, the others are margins.
    let band = width / 3.0;
    let bar = band * 0.74 / 6.0;
    for (nth, method) in METHODS.iter().enumerate() {
        tab.move_mouse(left + band / 2.0 + bar * (nth as f64 - 2.5), top + height * 0.9);
        tab.frame();
        assert_eq!(highlighted_series(&mut tab, "#chart-placement"), *method);
    }
}

#[test]
fn the_layer_at_the_pointer_is_highlighted() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    let Rectangle { left, top, width, height } = scroll_to_drawing(&mut tab, "#chart-ledger");
    // At the highest load, the lowest layer and the one in the upper part.
    for (height_share, layer) in [(0.97, "delivered"), (0.3, "ring")] {
        tab.move_mouse(left + width * 0.97, top + height * height_share);
        tab.frame();
        assert_eq!(highlighted_series(&mut tab, "#chart-ledger"), layer);
    }
}

#[test]
fn the_first_tab_stop_leads_to_the_content() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    tab.key("Tab");
    assert_eq!(tab.text("document.activeElement.textContent"), "To the content");
    tab.key("Enter");
    assert_eq!(tab.text("document.activeElement.id"), "content");
}

#[test]
fn arrow_keys_go_through_points_and_say_them() {
    let Some(mut tab) = open(&demo::report(120)) else { return };
    scroll_to_drawing(&mut tab, THROUGHPUT);
    focus(&mut tab, &format!("{THROUGHPUT} .canvas"));
    tab.key("ArrowRight");
    assert_eq!(reading(&mut tab, THROUGHPUT).position, "64 bytes");
    tab.key("ArrowRight");
    let all_series = spoken(&mut tab, THROUGHPUT);
    assert!(all_series.starts_with("frame size 128 bytes. "), "{all_series}");
    let packet_v3 = format!("{}: {}", METHODS[2], rate(capacity(2, 128)));
    assert!(all_series.contains(&packet_v3), "{all_series}");
    // The last point is the end.
    tab.key("End");
    tab.key("ArrowRight");
    assert_eq!(reading(&mut tab, THROUGHPUT).position, "1,518 bytes");

    // At the first size: down to the lowest series, and more often than there are series.
    tab.key("Home");
    for _ in 0..METHODS.len() + 2 {
        tab.key("ArrowDown");
    }
    for part in [". recv: ", "PF_RING", ". packet-v2: "] {
        let series = spoken(&mut tab, THROUGHPUT);
        assert!(series.contains(part), "{series}");
        if part != ". packet-v2: " {
            tab.key("ArrowUp");
        }
    }
    let packet_v2 = spoken(&mut tab, THROUGHPUT);
    assert!(packet_v2.ends_with(", 3 trials"), "{packet_v2}");
    tab.key("Enter");
    assert_eq!(tab.text("location.hash"), "#trial-22");
    assert!(tab.holds("document.getElementById('trial-24').classList.contains('cited')"));
    assert_eq!(tab.errors(), [""; 0]);
}

/// The exact values of a table's column, or its words.
fn column_of(tab: &mut Tab, table: &str, index: usize) -> Value {
    tab.value(&format!(
        "[...document.querySelectorAll('{table} tbody tr')].map((row) => row.cells[{index}].dataset.value ?? row.cells[{index}].textContent)"
    ))
}

/// The table of the demo's summary.
const SUMMARY: &str = "#table-summary";

/// The button in the heading of the summary's column with this number, from 1.
fn heading(number: usize) -> String {
    format!("{SUMMARY} thead th:nth-child({number}) button")
}

#[test]
fn tables_sort_by_exact_values_and_back_to_the_order_of_the_report() {
    let mut report = demo::report(20);
    // As floating-point numbers these are all the same.
    for (row, difference) in report.summary.as_mut().unwrap().rows.iter_mut().zip([3, 1, 2, 1, 0]) {
        row.cells[4] = Cell::Count((1 << 60) + difference);
    }
    let Some(mut tab) = open(&report) else { return };
    tab.click(&heading(5));
    let rising = json!(["af-xdp", "packet-v2", "libpcap", "packet-v3", "recv"]);
    assert_eq!(column_of(&mut tab, SUMMARY, 0), rising);
    let is_sorted =
        format!("document.querySelector('{SUMMARY} thead th:nth-child(5)').ariaSort === 'ascending'");
    assert!(tab.holds(&is_sorted));
    tab.click(&heading(5));
    let falling = json!(["recv", "packet-v3", "packet-v2", "libpcap", "af-xdp"]);
    assert_eq!(column_of(&mut tab, SUMMARY, 0), falling);
    tab.click(&heading(5));
    assert_eq!(column_of(&mut tab, SUMMARY, 0), json!(METHODS));
}

#[test]
fn words_sort_by_the_alphabet_and_unknown_numbers_come_last() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    tab.click(&heading(1));
    let by_name = json!(["af-xdp", "libpcap", "packet-v2", "packet-v3", "recv"]);
    assert_eq!(column_of(&mut tab, SUMMARY, 0), by_name);
    tab.value(&format!("document.querySelector('{}').focus()", heading(3)));
    for _direction in ["rising", "falling"] {
        tab.key("Enter");
        assert_eq!(column_of(&mut tab, SUMMARY, 2)[4], "unknown");
    }
}

#[test]
fn colours_follow_the_system_until_the_reader_chooses() {
    let Some(mut tab) = open(&demo::report(20)) else { return };
    let background = "getComputedStyle(document.body).backgroundColor";
    scroll_to_drawing(&mut tab, THROUGHPUT);
    let light = tab.text(background);
    let chart_in_light = appearance(&mut tab, THROUGHPUT);
    tab.media("screen", "dark");
    tab.frame();
    let dark = tab.text(background);
    assert_ne!(dark, light);
    assert_ne!(appearance(&mut tab, THROUGHPUT), chart_in_light);
    // The reader chooses the other colours.
    tab.click("#theme");
    assert_eq!(tab.text(background), light);
    assert_eq!(appearance(&mut tab, THROUGHPUT), chart_in_light);
    tab.load();
    assert_eq!(tab.text(background), light, "the choice is kept");
    tab.click("#theme");
    assert_eq!(tab.text(background), dark);
}

#[test]
fn a_page_of_a_thousand_trials_is_small_and_its_trials_can_be_filtered() {
    let page = html(&demo::report(1000));
    println!("a page of 1,000 trials with 69 columns: {} bytes", page.len());
    assert!(page.len() < 5_000_000, "{}", page.len());
    let Some(mut tab) = Tab::open(&page) else { return };
    assert!(tab.holds("!document.querySelector('#trials details').open"), "it is folded");
    let times: Vec<_> = (0..3).map(|_| tab.load()).collect();
    println!("opened in {times:?}");
    unfold(&mut tab);
    assert_eq!(tab.number("document.querySelectorAll('#trials tbody tr').length"), 1000.0);
    tab.value(
        "(() => {
            const input = document.querySelector('#trials input');
            input.value = 'recv 1,518';
            input.dispatchEvent(new Event('input'));
        })()",
    );
    // One of five methods and one of seven sizes.
    let shown_rows =
        tab.number("[...document.querySelectorAll('#trials tbody tr')].filter((row) => !row.hidden).length");
    assert!(shown_rows > 0.0 && shown_rows < 100.0, "{shown_rows}");
    // A link to a trial that the filter hides shows it.
    tab.value("location.hash = '#trial-777'");
    tab.frame();
    assert!(tab.holds("document.getElementById('trial-777').getBoundingClientRect().height > 0"));
}

/// The report of a bench of three methods, all of whose trials are noisy.
fn noisy_bench() -> Report {
    let mut results = runs::visited_bench();
    for trial in &mut results.trials {
        trial.noise.reasons.push(Noise::from_earlier("the host's foreign load"));
        trial.intended += 1000;
    }
    report_of(results)
}

/// The position of an element's edge in the window, as `DOMRect` names it.
fn edge(tab: &mut Tab, selector: &str, edge: &str) -> f64 {
    tab.number(&format!("document.querySelector('{selector}').getBoundingClientRect().{edge}"))
}

#[test]
fn the_first_screen_of_a_phone_has_verdict_bars_facts_and_noise() {
    for (name, report) in [("demo", demo::report(60)), ("bench", noisy_bench())] {
        let Some(mut tab) = Tab::open(&html(&report)) else { return };
        tab.size(390, 844);
        tab.load();
        let mut end_of_last = 0.0;
        for part in ["#verdict", "#answer .canvas", "#facts", "#caveats .sentence"] {
            let top = edge(&mut tab, part, "top");
            assert!(top >= end_of_last, "{name}: {part} begins at {top}, before {end_of_last}");
            end_of_last = edge(&mut tab, part, "bottom");
        }
        assert!(end_of_last <= 844.0, "{name}: {end_of_last}");
        assert!(edge(&mut tab, "#answer .figures", "top") >= end_of_last, "{name}: figures follow");
    }
}

#[test]
fn on_a_phone_only_boxes_scroll_sideways() {
    for report in [demo::report(60), noisy_bench()] {
        let Some(mut tab) = Tab::open(&html(&report)) else { return };
        tab.size(390, 844);
        tab.load();
        unfold(&mut tab);
        let too_wide = tab.value(
            "[...document.querySelectorAll('body *')].filter((one) => !one.closest('.box, .canvas, .skip')
                && one.getBoundingClientRect().right > 390.5).map((one) => one.outerHTML.slice(0, 80))",
        );
        assert_eq!(too_wide, json!([]));
        assert!(tab.holds("document.documentElement.scrollWidth <= 390"));
        let box_of_trials = "document.querySelector('#trials .box')";
        assert!(tab.holds(&format!("{box_of_trials}.scrollWidth > 2 * {box_of_trials}.clientWidth")));
        tab.value(&format!("{box_of_trials}.scrollLeft = 500"));
        tab.frame();
        let first_column = edge(&mut tab, "#trials tbody th", "left");
        let left_of_box = edge(&mut tab, "#trials .box", "left");
        assert!((first_column - left_of_box).abs() < 2.0, "the first column stays");
    }
}

/// The page printed on A4, as a PDF file.
fn printed(tab: &mut Tab) -> Vec<u8> {
    let paper = json!({ "preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69 });
    let pdf = tab.call("Page.printToPDF", paper);
    STANDARD.decode(pdf["data"].as_str().unwrap()).unwrap()
}

/// The tables that are wider than A4 has room for.
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
fn a_bench_is_printed_on_up_to_six_sheets_and_no_table_is_cut() {
    for (name, report) in [("bench", report_of(runs::bench())), ("noisy", noisy_bench())] {
        let Some(mut tab) = Tab::open(&html(&report)) else { return };
        let pdf = printed(&mut tab);
        let sheets = String::from_utf8_lossy(&pdf).matches("/Type /Page\n").count();
        assert!((1..=6).contains(&sheets), "{name}: {sheets}");
        assert_eq!(cut_tables(&mut tab), json!([]), "{name}");
        unfold(&mut tab);
        assert_eq!(cut_tables(&mut tab), json!([]), "{name}, every table unfolded");
    }
}

#[test]
fn the_chart_of_a_comparison_fits_a_window_and_a_phone() {
    let Some(mut tab) = Tab::open(&html(&super::compared(&runs::compared::example()))) else { return };
    for (width, height) in [(1280, 900), (390, 844)] {
        tab.size(width, height);
        tab.load();
        let bottom = edge(&mut tab, "#chart-changes .canvas", "bottom");
        assert!(bottom < f64::from(height), "{width}: {bottom}");
        assert!(tab.holds(&format!("document.documentElement.scrollWidth <= {width}")));
        let right_of_texts = tab.number(
            "Math.max(...[...document.querySelectorAll('#chart-changes text')].map((one) => one.getBoundingClientRect().right))",
        );
        assert!(right_of_texts <= f64::from(width), "{width}: {right_of_texts}");
    }
    assert_eq!(tab.errors(), [""; 0]);
}

#[test]
fn paper_has_light_colours_whatever_the_screen_has() {
    let Some(mut tab) = open(&demo::report(40)) else { return };
    scroll_to_drawing(&mut tab, THROUGHPUT);
    tab.media("", "dark");
    assert!(printed(&mut tab).starts_with(b"%PDF"));
    let dark_screen = appearance(&mut tab, THROUGHPUT);
    tab.media("print", "dark");
    assert_ne!(appearance(&mut tab, THROUGHPUT), dark_screen);
    tab.media("print", "light");
    let light_paper = appearance(&mut tab, THROUGHPUT);
    // The reader chose dark colours.
    tab.value("document.documentElement.dataset.theme = 'dark'; null");
    assert_eq!(appearance(&mut tab, THROUGHPUT), light_paper);
    assert_eq!(cut_tables(&mut tab), json!([]));
    assert!(tab.holds("getComputedStyle(document.getElementById('theme')).display === 'none'"));
}

/// The report of a run.
fn report_of(results: Results) -> Report {
    capbench_report::report::report(&super::run(results))
}

/// Checks that a chart can be read by the keyboard, and that its series can be switched off and on.
fn check_chart(tab: &mut Tab, context: &str, chart: &Chart) {
    let id = format!("#chart-{}", chart.id);
    scroll_to_drawing(tab, &id);
    let before = appearance(tab, &id);
    focus(tab, &format!("{id} .canvas"));
    tab.key("Home");
    let Reading { position, entries } = reading(tab, &id);
    assert!(!position.is_empty(), "{context}: {entries:?}");
    assert!(entries.iter().any(|entry| !entry.value.is_empty()), "{context}: {entries:?}");
    let names: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let expected: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    assert_eq!(names, expected, "{context}");

    let switch_all =
        format!("document.querySelectorAll('{id} .legend button').forEach((button) => button.click()); null");
    tab.value(&switch_all);
    tab.frame();
    assert_ne!(appearance(tab, &id), before, "{context}: switched off");
    tab.value(&switch_all);
    tab.frame();
    assert_eq!(appearance(tab, &id), before, "{context}: switched on again");
}

#[test]
fn pages_of_runs_begin_with_the_verdict_and_their_charts_can_be_read_and_switched() {
    let runs = [
        ("visited", runs::visited_bench()),
        ("sweep", runs::sweep()),
        ("search", runs::search()),
        ("reproduced", runs::reproduced::all()),
    ];
    for (name, results) in runs {
        let report = report_of(results);
        // Its tables stay folded: thousands of rows would be laid out again with every step of a chart.
        let Some(mut tab) = Tab::open(&html(&report)) else { return };
        assert_eq!(tab.text("document.querySelector('#verdict').textContent"), report.verdict.text, "{name}");
        // Of charts that the page's script draws and reads alike, the first.
        let mut checked = Vec::new();
        for chart in report.charts().filter(|chart| !chart.kind.has_rows()) {
            let alike = (chart.kind, chart.series.len(), discriminant(&chart.x.scale));
            if !checked.contains(&alike) {
                checked.push(alike);
                check_chart(&mut tab, &format!("{name}: {}", chart.title), chart);
            }
        }
        assert!(!checked.is_empty(), "{name}");
        assert_eq!(tab.errors(), [""; 0], "{name}");
        assert_eq!(tab.requests(), [tab.address.clone()], "{name}");
    }
}

#[test]
fn the_interval_of_a_sum_is_in_its_entry() {
    let report = report_of(runs::visited_bench());
    let is_total = |series: &Series| series.role == Role::Total;
    let chart = report.charts().find(|chart| chart.series.iter().any(is_total)).unwrap();
    let Some(mut tab) = open(&report) else { return };
    let id = format!("#chart-{}", chart.id);
    scroll_to_drawing(&mut tab, &id);
    focus(&mut tab, &format!("{id} .canvas"));
    tab.key("Home");
    let Reading { entries, .. } = reading(&mut tab, &id);
    let total = chart.series.iter().position(is_total).unwrap();
    let point = &chart.series[total].points[0];
    let expected = figures::number(point.y.unwrap(), chart.y.unit);
    let entry = &entries[total];
    assert!(entry.value.starts_with(&expected), "{entry:?}");
    assert!(entry.evidence.contains(" to ") && entry.evidence.contains("trials"), "{entry:?}");
}

/// The points of a series: x and y each.
type Points = [(f64, Option<f64>)];

/// Makes charts of odd data from one of the demo.
struct OddCharts {
    like: Chart,
}

impl OddCharts {
    /// A chart with two linear axes.
    fn linear(&self, id: &str, kind: Kind, lines: &[&Points]) -> Chart {
        let mut chart = Chart { id: id.into(), kind, series: Vec::new(), ..self.like.clone() };
        chart.x.scale = Scale::Linear;
        chart.y.scale = Scale::Linear;
        for (nth, line) in lines.iter().enumerate() {
            let mut points = Vec::new();
            for &(x, y) in *line {
                // Trial 99 has no row.
                points.push(Point { x, y, interval: None, is_at_least: false, trials: vec![1, 99] });
            }
            let name = format!("method {nth} with a name that is much longer than names are");
            chart.series.push(Series { name, role: Role::Method, points });
        }
        chart
    }

    /// A chart with two logarithmic axes.
    fn logarithmic(&self, id: &str, kind: Kind, lines: &[&Points]) -> Chart {
        let mut chart = self.linear(id, kind, lines);
        chart.x.scale = Scale::Logarithmic;
        chart.y.scale = Scale::Logarithmic;
        chart
    }

    /// Charts without points, with few, with many and with extreme ones.
    fn all(&self) -> Vec<Chart> {
        let mut many = Vec::new();
        for x in 0..5000 {
            let y = if x % 7 == 0 { None } else { Some(f64::from(x % 100)) };
            many.push((f64::from(x), y));
        }
        let same = [(3.0, Some(2.0)), (3.0, Some(2.0)), (3.0, None)];
        let below_zero: [&Points; 2] = [&[(1.0, Some(3.0))], &[(1.0, Some(-2.0)), (2.0, Some(-4.0))]];
        let mut names = self.linear("names", Kind::Stacked, &[&many[..30], &many[30..60]]);
        names.x.scale =
            Scale::Names((0..30).map(|nth| format!("a placement with the number {nth}, and more")).collect());
        vec![
            self.linear("nothing", Kind::Lines, &[]),
            self.linear("empty", Kind::Stacked, &[&[]]),
            self.linear("unknown", Kind::Lines, &[&[(1.0, None), (2.0, None)]]),
            self.linear("one", Kind::Points, &[&[(5.0, Some(7.0))]]),
            self.logarithmic("zeros", Kind::Lines, &[&[(0.0, Some(0.0)), (0.0, Some(0.0))]]),
            self.linear("below", Kind::StackedBars, &below_zero),
            self.logarithmic("wide", Kind::Lines, &[&[(1e-12, Some(1e-15)), (1e15, Some(1e18))]]),
            self.linear("many", Kind::Lines, &[&many]),
            self.linear("forty", Kind::Bars, &[&many[..20]; 40]),
            names,
            self.logarithmic("same", Kind::Points, &[&same]),
        ]
    }
}

#[test]
fn charts_of_little_or_odd_data_are_drawn() {
    let mut report = demo::report(5);
    let odd = OddCharts { like: report.sections[0].charts[0].clone() };
    report.sections[0].charts = odd.all();
    // Folded tables are not laid out again with every step.
    let Some(mut tab) = Tab::open(&html(&report)) else { return };
    for window_width in [1280, 390] {
        tab.size(window_width, 900);
        for chart in &report.sections[0].charts {
            let id = format!("#chart-{}", chart.id);
            let Rectangle { left, top, width, height } = scroll_to_drawing(&mut tab, &id);
            assert!(width > 150.0 && height > 100.0, "{id}: {width} by {height}");
            tab.move_mouse(left + width / 2.0, top + height / 2.0);
            focus(&mut tab, &format!("{id} .canvas"));
            for key in ["ArrowRight", "ArrowUp", "End", "Escape"] {
                tab.type_key(key);
            }
            tab.click(&format!("{id} summary"));
        }
    }
    assert_eq!(tab.errors(), [""; 0]);
}
