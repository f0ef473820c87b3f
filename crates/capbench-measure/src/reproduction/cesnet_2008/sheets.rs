//! The report's seven tables beside what was measured.

use super::super::material::{Figure, Material, captured, captured_bps, captured_pps, kernel_load};
use super::super::outcome::{Cell, Comparison, Quantity, Side};
use super::super::published::{CESNET_1, CESNET_2, CESNET_3, CESNET_4, CESNET_5, CESNET_6, CESNET_7, Data};
use super::super::step::gigabit;
use super::super::tables::Sheet;
use super::{
    MIX, PF_RING, PLACEMENTS, RING, STACK, SZEDATA2, best_effort, found, mixed, searched_sizes, sizes,
};
use crate::placement::PlacementChoice;

const LIBPCAP: &str = "libpcap";
/// What columns of the placements begin with.
const PREFIXES: [&str; 2] = ["same_cpu_", "other_cpu_"];

/// Powers of ten of what the tables are in.
const GIGA: i32 = 9;
const PERCENT: i32 = -2;

/// Marks a published rate above the line rate.
const ABOVE_WIRE: char = '!';
const ABOVE_WIRE_NOTE: &str =
    "!: published, but above the line rate of 1 Gbit/s: an effect of time stamps in milliseconds.";
/// Rates are whole packets, and clocks of two hosts differ.
const ROUNDING_PPS: f64 = 1.0;

/// All of them.
pub(super) fn all(material: &Material<'_>) -> Vec<Comparison> {
    let mut tables = Vec::new();
    for (data, title, published, methods) in [
        (CESNET_1, "table 1", SZEDATA2, &[SZEDATA2, RING][..]),
        (CESNET_2, "table 2", "PF_RING", &[PF_RING, RING][..]),
        (CESNET_3, "table 3", "libpcap", &[STACK, LIBPCAP][..]),
    ] {
        for placement in PLACEMENTS {
            // The first table has one column for both CPUs.
            let prefix = match (data == CESNET_1, placement) {
                (true, PlacementChoice::Same) => "",
                (true, _) => continue,
                (false, PlacementChoice::Same) => "same_cpu_",
                (false, _) => "other_cpu_",
            };
            let about = About { data, title, published, prefix, placement };
            tables.push(rates(material, &about, methods));
            tables.push(loads(material, &about, methods));
        }
    }
    for (data, title, published, method) in [
        (CESNET_4, "table 4", SZEDATA2, SZEDATA2),
        (CESNET_5, "table 5", "PF_RING", PF_RING),
        (CESNET_6, "table 6", "libpcap", STACK),
    ] {
        for (placement, prefix) in PLACEMENTS.into_iter().zip(PREFIXES) {
            tables.push(throughput(material, &About { data, title, published, prefix, placement }, method));
        }
    }
    tables.extend(
        PLACEMENTS.into_iter().zip(PREFIXES).map(|(placement, prefix)| mix(material, placement, prefix)),
    );
    tables
}

/// A part of a table: what belongs to one placement.
#[derive(Clone, Copy)]
struct About {
    data: Data,
    title: &'static str,
    published: &'static str,
    prefix: &'static str,
    placement: PlacementChoice,
}

fn rows() -> impl Iterator<Item = (String, Option<f64>)> {
    sizes().into_iter().map(|octets| (octets.to_string(), Some(f64::from(octets))))
}

fn sheet(id: String, caption: String) -> Sheet {
    Sheet::new(id, caption, ("bytes", Quantity::FrameBytes), rows())
}

/// The same, and its words for the CPUs.
fn cpus(prefix: &str) -> &'static str {
    match prefix {
        "" => "",
        "same_cpu_" => ", application on the CPU of the interrupts",
        _ => ", application on another CPU",
    }
}

/// A published column of rates, those above the line rate marked.
fn published_rates(data: Data, column: &str) -> Vec<Cell> {
    let cell = |(octets, pps): (u16, Option<f64>)| {
        let limit = gigabit(octets.into()).ok().map(|limit| limit.get() + ROUNDING_PPS);
        let is_above = pps.zip(limit).is_some_and(|(pps, limit)| pps > limit);
        Cell::published(pps).marked(is_above.then_some(ABOVE_WIRE))
    };
    sizes().into_iter().zip(data.numbers(column)).map(cell).collect()
}

/// Adds a published column of rates and its flaws.
fn add_published_rates(sheet: &mut Sheet, data: Data, names: (&str, &str), column: &str) {
    let cells = published_rates(data, column);
    if cells.iter().any(|cell| cell.mark.is_some()) {
        sheet.note(ABOVE_WIRE_NOTE);
    }
    sheet.column(Side::Published, names, Quantity::PacketsPerSecond, cells);
}

/// Why methods have no numbers.
fn reasons(sheet: &mut Sheet, material: &Material<'_>, methods: &[&str]) {
    for method in methods {
        if let Some(reason) = material.why_left_out(method) {
            sheet.note(format!("{method} cannot run here: {reason}"));
        }
    }
}

/// What stands beside a method that is another one.
fn stands_for(sheet: &mut Sheet, about: &About, methods: &[&str]) {
    if methods.contains(&RING) && about.published != RING {
        sheet.note(format!(
            "{RING} stands beside {} as the ring that every kernel has; it is not the same method.",
            about.published
        ));
    }
}

fn rates(material: &Material<'_>, about: &About, methods: &[&'static str]) -> Comparison {
    let About { data, title, published, prefix, placement } = *about;
    let mut sheet = sheet(
        format!("cesnet-2008-{}-rates-{placement}", title.replace(' ', "")),
        format!("{title}: best effort at 1 Gbit/s, captured{}", cpus(prefix)),
    );
    let wire =
        sizes().into_iter().map(|octets| Cell::published(gigabit(octets.into()).ok().map(|pps| pps.get())));
    sheet.column(Side::Given, ("the wire", ""), Quantity::PacketsPerSecond, wire);
    add_published_rates(&mut sheet, data, (published, ""), &format!("{prefix}pps"));
    let gbps = data.all_scaled(&format!("{prefix}gbps"), GIGA);
    sheet.published((published, ""), Quantity::BitsPerSecond, gbps);
    for method in material.had(methods) {
        let cells = |of: Figure| {
            let seen = move |octets| best_effort(material, method, placement, octets);
            sizes().into_iter().map(move |octets| seen(octets).captured_cell(of))
        };
        sheet.column(Side::Here, (method, ""), Quantity::PacketsPerSecond, cells(captured_pps));
        sheet.column(Side::Here, (method, ""), Quantity::BitsPerSecond, cells(captured_bps));
    }
    stands_for(&mut sheet, about, methods);
    reasons(&mut sheet, material, methods);
    sheet.curves(Quantity::PacketsPerSecond);
    sheet.finish()
}

fn loads(material: &Material<'_>, about: &About, methods: &[&'static str]) -> Comparison {
    let About { data, title, published, prefix, placement } = *about;
    let mut sheet = sheet(
        format!("cesnet-2008-{}-loads-{placement}", title.replace(' ', "")),
        format!("{title}: load in percent of a CPU{}", cpus(prefix)),
    );
    for (what, column) in [("app", "app_load_pct"), ("kernel", "kernel_load_pct")] {
        let numbers = data.all_scaled(&format!("{prefix}{column}"), PERCENT);
        sheet.published((published, what), Quantity::Load, numbers);
    }
    for method in material.had(methods) {
        let seen = |octets| best_effort(material, method, placement, octets);
        let cells = |of: Figure| sizes().into_iter().map(move |octets| seen(octets).cell(of));
        let application = sizes().into_iter().map(|octets| seen(octets).application_cell());
        sheet.column(Side::Here, (method, "app"), Quantity::Load, application);
        sheet.column(Side::Here, (method, "kernel"), Quantity::Load, cells(kernel_load));
        let got = sizes().into_iter().map(|octets| seen(octets).captured_cell(captured));
        sheet.column(Side::Here, (method, ""), Quantity::Captured, got);
    }
    stands_for(&mut sheet, about, methods);
    reasons(&mut sheet, material, methods);
    sheet.finish()
}

fn throughput(material: &Material<'_>, about: &About, method: &'static str) -> Comparison {
    let About { data, title, published, prefix, placement } = *about;
    let mut sheet = sheet(
        format!("cesnet-2008-{}-throughput-{placement}", title.replace(' ', "")),
        format!("{title}: RFC 2544 throughput{}", cpus(prefix)),
    );
    add_published_rates(&mut sheet, data, (published, ""), &format!("{prefix}pps"));
    let gbps = data.all_scaled(&format!("{prefix}gbps"), GIGA);
    sheet.published((published, ""), Quantity::BitsPerSecond, gbps);
    let cells = |bits: bool| {
        sizes().into_iter().map(move |octets| {
            let Some(found) = found(material, method, placement, octets) else { return Cell::default() };
            let factor = if bits { (f64::from(octets) + 20.0) * 8.0 } else { 1.0 };
            Cell {
                value: Some(found.pps * factor),
                at_least: found.at_least,
                trials: found.trials.to_vec(),
                ..Cell::default()
            }
        })
    };
    sheet.column(Side::Here, (method, ""), Quantity::PacketsPerSecond, cells(false));
    sheet.column(Side::Here, (method, ""), Quantity::BitsPerSecond, cells(true));
    // Which of two tables is wrong cannot be seen in them; that they agree can.
    let column = format!("{prefix}pps");
    if data == CESNET_4 && CESNET_4.numbers(&column) == CESNET_5.numbers(&column) {
        sheet.note(
            "The published column is that of table 5 (PF_RING), value for value, and the report's text calls szedata2 lossless at \
             every size: only the \"same CPU\" column of table 4 fits the text.",
        );
    }
    if cells(false).any(|cell| cell.at_least) {
        sheet.note(
            ">=: held, and the search was ended by the generator or the wire's rate before it met a load that is not.",
        );
    }
    if material.why_left_out(method).is_none() && searched_sizes(material.conditions) != sizes() {
        sheet.note("Here: one search for each size that RFC 2544 lists; --scale 0.1 or more searches at the others, too.");
    }
    reasons(&mut sheet, material, &[method]);
    sheet.curves(Quantity::PacketsPerSecond);
    sheet.finish()
}

/// Table 7 in one placement.
fn mix(material: &Material<'_>, placement: PlacementChoice, prefix: &str) -> Comparison {
    let methods =
        [("linux-stack", STACK), ("pf_ring", PF_RING), ("szedata2", SZEDATA2), ("", LIBPCAP), ("", RING)];
    let name = |(published, method): &(&str, &str)| match *published {
        "" => format!("(today) {method}"),
        published => format!("{published}: {method}"),
    };
    let mut sheet = Sheet::new(
        format!("cesnet-2008-table7-imix-{placement}"),
        format!("table 7: load in percent of a CPU under IMIX ({MIX}) at 1 Gbit/s{}", cpus(prefix)),
        ("method", Quantity::Name),
        methods.iter().map(|row| (name(row), None)),
    );
    for (what, column) in [("app", "app_load_pct"), ("kernel", "kernel_load_pct")] {
        let of = |(published, _): &(&str, &str)| {
            let row = CESNET_7.row(published)?;
            CESNET_7.scaled(row, &format!("{prefix}{column}"), PERCENT)
        };
        sheet.published(("", what), Quantity::Load, methods.iter().map(of).collect::<Vec<_>>());
    }
    let cells =
        |of: Figure| methods.iter().map(move |(_, method)| mixed(material, method, placement).cell(of));
    let application = methods.iter().map(|(_, method)| mixed(material, method, placement).application_cell());
    sheet.column(Side::Here, ("", "app"), Quantity::Load, application);
    sheet.column(Side::Here, ("", "kernel"), Quantity::Load, cells(kernel_load));
    let got = |of: Figure| {
        methods.iter().map(move |(_, method)| mixed(material, method, placement).captured_cell(of))
    };
    sheet.column(Side::Here, ("", ""), Quantity::PacketsPerSecond, got(captured_pps));
    sheet.column(Side::Here, ("", ""), Quantity::Captured, got(captured));
    reasons(&mut sheet, material, &[PF_RING, SZEDATA2]);
    sheet.finish()
}
