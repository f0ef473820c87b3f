//! What a bench prints: a table for each frame size and placement, then the findings. A pure function of results.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::time::Duration;

use capbench_measure::cost::{Cost, Spread};
use capbench_measure::figures::grouped;
use capbench_measure::findings::Finding;
use capbench_measure::ledger::LostAt;
use capbench_measure::results::NotMeasured;
use capbench_measure::statistics::interval::Estimate;
use capbench_measure::trial::{Phase, SizeLabel, TrialResult, Verdict};
use capbench_report::printable;

use crate::table::Table;

/// Columns that a line of text may fill.
pub const COLUMNS: usize = 80;

/// Of these, what a method's name may take beside the columns of numbers, where they leave so much.
const LABEL: usize = 13;

/// The tables of all trials.
pub fn tables(trials: &[TrialResult]) -> String {
    let mut text = String::new();
    let mut scenes = Vec::new();
    for trial in trials {
        let scene = (trial.profile.placement.clone(), trial.profile.frame_size.clone());
        if !scenes.contains(&scene) {
            scenes.push(scene);
        }
    }
    for (placement, size) in &scenes {
        let group: Vec<_> = trials
            .iter()
            .filter(|trial| trial.profile.placement == *placement && trial.profile.frame_size == *size)
            .collect();
        scene(&mut text, placement, size, &group);
    }
    text
}

fn scene(text: &mut String, placement: &str, size: &SizeLabel, group: &[&TrialResult]) {
    let Some(first) = group.first() else { return };
    let cpus = first.profile.cpus;
    let kernel = cpus.kernel.map_or("?".to_string(), |cpu| cpu.to_string());
    let title = format!(
        "{size}-byte frames, placement {placement}: CPU {} generates, {kernel} receives in the kernel, {} runs the \
         application",
        cpus.generator, cpus.application
    );
    wrapped(text, "", "  ", &title);
    let common = group
        .iter()
        .filter(|trial| trial.phase == Phase::CommonLoad)
        .filter_map(|trial| trial.intended_pps)
        .min_by(f64::total_cmp);
    let load = if group.iter().any(|trial| trial.phase == Phase::FixedLoad) {
        "at one load"
    } else {
        "at maximum load"
    };
    let _ = match common {
        Some(pps) => {
            writeln!(text, "  packets/s and loss {load}; CPU time per packet at {} packets/s", grouped(pps))
        }
        None => writeln!(text, "  packets/s, loss and CPU time per packet {load}"),
    };
    let mut table =
        Table::new(&["  method", "offered", "delivered", "lost", "where", "app ns", "cpu ns", "cores"])
            .with_labels_up_to(LABEL)
            .within(COLUMNS);
    let mut methods = BTreeSet::new();
    let mut most_visits = 1;
    for trial in group.iter().filter(|trial| trial.phase != Phase::CommonLoad) {
        let method = trial.profile.method.as_str();
        if !methods.insert(method) {
            continue;
        }
        let own = || group.iter().copied().filter(move |other| other.profile.method == method);
        let loads: Vec<_> = own().filter(|other| other.phase != Phase::CommonLoad).collect();
        let costs: Vec<_> = match common {
            Some(_) => own()
                .filter(|other| other.phase == Phase::CommonLoad && other.intended_pps == common)
                .collect(),
            None => loads.clone(),
        };
        most_visits = most_visits.max(loads.len());
        table.row(row(&loads, &costs));
    }
    if most_visits > 1 {
        let _ = writeln!(text, "  medians of up to {most_visits} visits");
    }
    let _ = writeln!(text, "{table}");
}

/// What a method did in its visits at the load of the table, and in those that CPU time was measured in, if there were any.
fn row(loads: &[&TrialResult], costs: &[&TrialResult]) -> Vec<String> {
    let cores = middle(costs, |trial| trial.cpu.busy_cores);
    let shown = loads.iter().chain(costs).copied();
    vec![
        format!("  {}{}", loads[0].profile.method, mark(shown)),
        middle(loads, |trial| Some(trial.offered_pps)).map_or("-".into(), grouped),
        middle(loads, |trial| Some(trial.delivered_pps)).map_or("-".into(), grouped),
        lost(loads),
        place(loads),
        application(costs),
        total(costs),
        cores.map_or("-".into(), |cores| format!("{cores:.2}")),
    ]
}

/// The median of what visits say; `None` where one of them says nothing.
fn middle(visits: &[&TrialResult], of: impl Fn(&TrialResult) -> Option<f64>) -> Option<f64> {
    let values: Option<Vec<f64>> = visits.iter().map(|trial| of(trial)).collect();
    Estimate::of(values?).map(|estimate| estimate.median)
}

/// The place that lost most in all visits together.
fn place(visits: &[&TrialResult]) -> String {
    let losses = LostAt::sum(visits.iter().flat_map(|trial| trial.losses()));
    match (visits.iter().all(|trial| trial.unexplained == 0), &losses[..]) {
        (false, _) => "unknown".into(),
        (true, []) => "-".into(),
        (true, [only]) => only.place.word().into(),
        (true, [most, ..]) => format!("{}+", most.place.word()),
    }
}

/// Application and kernel time per packet; marked where the clocks tick too coarsely to know it to a tenth.
fn total(visits: &[&TrialResult]) -> String {
    let Some(ns) = middle(visits, |trial| trial.cpu.total_ns_per_packet) else { return "-".into() };
    let is_coarse = visits.iter().any(|trial| trial.cpu_uncertainty_ns() > ns / 10.0);
    if is_coarse { format!("~{ns:.0}") } else { format!("{ns:.0}") }
}

/// Application time per packet; a range where only its sum with the kernel's is certain.
fn application(visits: &[&TrialResult]) -> String {
    let own = middle(visits, |trial| trial.cpu.app_ns_per_packet);
    let most = middle(visits, |trial| trial.cpu.app_ns_per_packet_at_most);
    let is_sampled = visits.iter().any(|trial| trial.cpu.split_is_sampled);
    match (own, most) {
        (Some(own), Some(most)) if is_sampled && most - own >= 0.5 => format!("{own:.0}-{most:.0}"),
        (Some(own), _) => format!("{own:.0}"),
        _ => "-".into(),
    }
}

/// A star for trials whose numbers are to be taken with care; the findings say why.
fn mark<'t>(mut trials: impl Iterator<Item = &'t TrialResult>) -> &'static str {
    let is_doubtful = |trial: &TrialResult| !trial.noise.is_empty() || trial.verdict == Verdict::Invalid;
    if trials.any(is_doubtful) { "*" } else { "" }
}

/// Share lost of what was sent. Never "0" unless it is none in any visit.
fn lost(visits: &[&TrialResult]) -> String {
    let ratio = middle(visits, |trial| Some(trial.sent_loss_ratio())).unwrap_or(0.0) * 100.0;
    match visits.iter().map(|trial| trial.lost()).sum::<u64>() {
        0 => "0".into(),
        _ if ratio >= 10.0 => format!("{ratio:.0} %"),
        _ if ratio >= 0.01 => format!("{ratio:.2} %"),
        lost => format!("{lost} pkt"),
    }
}

/// What the columns of CPU time mean.
pub fn legend(trials: &[TrialResult]) -> String {
    let verify = trials.iter().map(|trial| trial.cpu.verify_ns_per_packet).filter(|ns| *ns > 0.0);
    let Some(least) = verify.clone().min_by(f64::total_cmp) else { return String::new() };
    let most = verify.fold(0.0, f64::max);
    let mut text = format!(
        "app ns: application time per packet, with verifying every frame ({least:.0} to {most:.0} ns)\n\
         cpu ns: application and kernel receive work together; ~ if known roughly only\n\
         cores: busy on the host\n"
    );
    if trials.iter().any(|trial| trial.cpu.verify_ns_per_packet == 0.0) {
        text.push_str("cmd: programs do their own work; files that they write are verified afterwards\n");
    }
    text.push('\n');
    text
}

/// What did the work behind each method's name, as it was found out.
pub fn engines(trials: &[TrialResult]) -> String {
    let mut named: Vec<(&str, &str)> = Vec::new();
    for trial in trials {
        let pair = (trial.profile.method.as_str(), trial.engine.as_str());
        if !trial.engine.is_empty() && !named.contains(&pair) {
            named.push(pair);
        }
    }
    if named.is_empty() {
        return String::new();
    }
    let mut text = String::from("What ran\n");
    for (method, engine) in named {
        wrapped(&mut text, "  ", "    ", &format!("{method}: {engine}"));
    }
    text.push('\n');
    text
}

/// The findings as wrapped lines, under what they are about.
pub fn findings(findings: &[Finding]) -> String {
    let mut text = String::from("Findings\n");
    let mut scene: Option<&str> = None;
    for finding in findings {
        let about = finding.scene.as_deref();
        if about != scene {
            wrapped(&mut text, "  ", "  ", about.unwrap_or("All trials"));
            scene = about;
        }
        wrapped(&mut text, "  - ", "    ", &finding.text);
    }
    text
}

/// What was asked for and could not be measured, with the reasons.
pub fn not_measured(list: &[NotMeasured]) -> String {
    if list.is_empty() {
        return String::new();
    }
    let mut text = String::from("Not measured\n");
    for missing in list {
        let mut what = missing.test.as_ref().map_or(String::new(), |test| format!("{test}: "));
        what.push_str(&missing.method);
        if let Some(size) = &missing.frame_size {
            let _ = write!(what, ", {size} B");
        }
        if let Some(placement) = &missing.placement {
            let _ = write!(what, ", {placement}");
        }
        wrapped(&mut text, "  ", "    ", &format!("{what}: {}", missing.reason));
    }
    text.push('\n');
    text
}

/// What estimates leave out.
pub const NOISE: &str = "            without noise, which adds to it\n";

/// How long something takes so many times, on the paths that it was tried on.
pub fn time_of(spread: Spread, quiet: Duration, times: usize) -> String {
    let time = |cost: Cost| roughly(cost.times(times as u32).time(quiet));
    let Spread { least, median, most } = spread;
    format!("about {}, at least {}, at most {}", time(median), time(least), time(most))
}

/// A time as people say it.
pub fn roughly(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let (minutes, hours) = ((seconds / 60.0).round() as u64, (seconds / 3600.0).round() as u64);
    match seconds {
        ..10.0 => format!("{seconds:.1} s"),
        ..600.0 => format!("{seconds:.0} s"),
        ..36_000.0 => format!("{} h {} min", minutes / 60, minutes % 60).trim_start_matches("0 h ").into(),
        _ => format!("{} h", grouped(hours as f64)),
    }
}

/// Adds words in lines that fit, the first behind `first`, the others behind `next`.
pub fn wrapped(text: &mut String, first: &str, next: &str, words: &str) {
    let mut line = String::from(first);
    let mut is_empty = true;
    for word in printable::line(words).split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            let _ = writeln!(text, "{line}");
            line = String::from(next);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{findings, tables};
    use capbench_measure::arrivals::Arrivals;
    use capbench_measure::evidence::Evidence;
    use capbench_measure::findings::Finding;
    use capbench_measure::trial::{CpuAccount, Cpus, Load, Measured, Phase, Profile, SizeLabel, TrialResult};

    /// A trial of one second at maximum load.
    fn trial(method: &str, sent: u64, delivered: u64, cpu: CpuAccount) -> TrialResult {
        let profile = Profile {
            method: method.into(),
            frame_size: SizeLabel::Octets(64),
            mean_frame_size: 64.0,
            traffic: String::new(),
            transmit: "packet-tx".into(),
            placement: "same".into(),
            cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
            load_independent: true,
            load_depends_because: None,
            work: "none".into(),
        };
        let measured = Measured {
            intended: sent,
            evidence: Evidence {
                sent,
                delivered,
                read: delivered,
                transmit_drops: Some(sent - delivered),
                ..Evidence::default()
            },
            arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
            sending: Duration::from_secs(1),
            cpu,
            ..Measured::default()
        };
        measured.result(1, Phase::BestEffort, &profile, Load::Maximum, Duration::from_secs(1))
    }

    #[test]
    fn tables_fit_80_columns() {
        let slow = CpuAccount {
            app_ns: Some(10_204 * 9_000),
            app_charged_ns: Some(14_874 * 9_000),
            total_ns: Some(19_999 * 10_000),
            kernel_resolution_ns: Some(10_000_000),
            split_is_sampled: true,
            busy_cores: Some(1.27),
            ..CpuAccount::default()
        };
        let busy = CpuAccount { busy_cores: Some(128.0), ..slow.clone() };
        for (sent, cpu) in [(1_436_330, &slow), (14_436_330, &slow), (14_436_330, &busy)] {
            let trials = [
                trial("recv", 10_000, 9_000, cpu.clone()),
                trial("cmd:tcpdump", sent, sent, CpuAccount::default()),
                trial("packet-v3+napi-thread", sent, sent / 2, CpuAccount::default()),
            ];
            let printed = tables(&trials);
            assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
            for field in ["10204-14874", "~19999", "transmit", "packet-v3+napi-thread", "cmd:tcpdump"] {
                assert!(printed.contains(field), "{field}: {printed}");
            }
        }
    }

    #[test]
    fn findings_fit_80_columns() {
        let text = "word ".repeat(60);
        let printed = findings(&[Finding { scene: None, text: text.trim().into(), trials: vec![] }]);
        assert!(printed.lines().all(|line| line.chars().count() <= 80), "{printed}");
        assert_eq!(printed.matches("word").count(), 60);
    }
}
