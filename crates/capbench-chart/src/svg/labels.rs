//! Labels of ticks, and the unit in the axis title.

use capbench_model::figures::shortest;

use crate::chart::Unit;

/// With the decimals of the step, and separators.
pub(super) fn decimal(value: f64, step: f64) -> String {
    let power = (step.log10() + 1e-9).floor();
    let half = if (step / 10f64.powf(power) - 2.5).abs() < 1e-6 { 1.0 } else { 0.0 };
    let decimals = (half - power).max(0.0);
    if decimals > 6.0 || value.abs() >= 1e12 {
        return if value == 0.0 { "0".into() } else { format!("{value:.1e}") };
    }
    if decimals == 0.0 {
        let sign = if value <= -0.5 { "-" } else { "" };
        return format!("{sign}{}", capbench_model::figures::count(value.abs().round() as u64));
    }
    format!("{value:.0$}", decimals as usize)
}

const KIB: f64 = 1024.0;

/// Divisor of the shown values, and their unit after the division.
pub(super) fn scaling(unit: Unit, largest: f64) -> (f64, String) {
    // From which largest value on, divided by what, and the unit then or its prefix.
    let (steps, rest): (&[(f64, f64, &str)], &str) = match unit {
        Unit::PacketsPerSecond | Unit::Count | Unit::Iterations => {
            (&[(1e9, 1e9, "billion "), (1e6, 1e6, "million "), (1e4, 1e3, "thousand ")], unit.symbol())
        }
        Unit::BitsPerSecondL1 | Unit::BitsPerSecondL2 => {
            (&[(1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e3, 1e3, "k")], unit.symbol())
        }
        Unit::Nanoseconds => (&[(1e9, 1e9, "s"), (1e6, 1e6, "ms"), (1e4, 1e3, "µs")], ""),
        Unit::NanosecondsPerPacket => (&[(1e7, 1e6, "ms/packet"), (1e4, 1e3, "µs/packet")], ""),
        Unit::Seconds if largest > 0.0 && largest < 0.5 => {
            (&[(1e-3, 1e-3, "ms"), (1e-6, 1e-6, "µs"), (0.0, 1e-9, "ns")], "")
        }
        Unit::Seconds => (&[(10_800.0, 3600.0, "h"), (900.0, 60.0, "min")], ""),
        Unit::Bytes => (
            &[
                (10.0 * KIB * KIB * KIB, KIB * KIB * KIB, "GiB"),
                (2.0 * KIB * KIB, KIB * KIB, "MiB"),
                (64.0 * KIB, KIB, "KiB"),
            ],
            "",
        ),
        Unit::Ratio => return (0.01, "%".into()),
        Unit::None | Unit::Cores | Unit::PerSecond => (&[], ""),
    };
    match steps.iter().find(|(from, ..)| largest >= *from) {
        Some((_, factor, name)) => (*factor, format!("{name}{rest}").trim_end().into()),
        None => (1.0, unit.symbol().into()),
    }
}

/// The unit in the title of a logarithmic axis; empty if each label has its unit.
pub(super) const fn logarithmic_unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds | Unit::Seconds | Unit::Bytes | Unit::Ratio => "",
        other => other.symbol(),
    }
}

/// The label of a power.
pub(super) fn power_label(unit: Unit, value: f64) -> String {
    let plain = |value: f64| shortest(value, 9);
    let stepped = |value: f64, steps: &[(f64, &str)]| {
        steps
            .iter()
            .find(|(from, _)| value >= from * (1.0 - 1e-9))
            .map(|(from, name)| format!("{} {name}", plain(value / from)))
    };
    let short = |value: f64| {
        if !(1e-6..1e13).contains(&value) {
            return format!("{value:.0e}");
        }
        stepped(value, &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")]).unwrap_or_else(|| plain(value))
    };
    let time = |seconds: f64| {
        if !(1e-12..1e13).contains(&seconds) {
            return format!("{seconds:.0e} s");
        }
        stepped(seconds, &[(1.0, "s"), (1e-3, "ms"), (1e-6, "µs")])
            .unwrap_or_else(|| format!("{} ns", plain(seconds * 1e9)))
    };
    match unit {
        Unit::Nanoseconds => time(value * 1e-9),
        Unit::Seconds => time(value),
        Unit::Ratio if (1e-9..1e6).contains(&value) => format!("{} %", plain(value * 100.0)),
        Unit::Ratio => format!("{:.0e} %", value * 100.0),
        Unit::Bytes if value < 1e16 => {
            let steps = [(KIB * KIB * KIB, "GiB"), (KIB * KIB, "MiB"), (KIB, "KiB")];
            stepped(value, &steps).unwrap_or_else(|| format!("{} B", plain(value)))
        }
        _ => short(value),
    }
}
