//! `capbench verify`: finds every frame of `capbench send` in capture files.

pub mod document;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use capbench_frames::TrialId;
use capbench_lab::recorded::{FileRead, Recorded, RecordedInterface, TrialFrames};
use capbench_record::file::FileFormat;
use capbench_report::printable;
use clap::Args;

use self::document::Document;
use crate::capture_files;
use crate::exit::{self, Exit, Usage};
use crate::flags::LayoutFlags;
use crate::output::{print, print_json};
use crate::status::{lost, other_trials, word};

#[derive(Args, Clone, Debug)]
pub struct VerifyFlags {
    /// Capture files, pcapng or pcap, also compressed with Zstandard; several are read as one recording, in this order; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Numbers that the stamps carry, as given to `capbench send --trial`; several for several senders: 7,8,9
    #[arg(long, value_name = "ID", value_delimiter = ',', default_values_t = [1])]
    trial: Vec<u16>,
    /// How many frames of each trial were sent, so that those missing at the end are known
    #[arg(long, value_name = "FRAMES", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    frames: Option<u64>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
    /// Headers of the frames
    #[command(flatten)]
    layout: LayoutFlags,
}

/// Missing ranges printed per trial.
const RANGES: usize = 20;

pub fn run(flags: &VerifyFlags) -> Result<Exit> {
    let mut trials: Vec<_> = flags.trial.iter().copied().map(TrialId).collect();
    trials.sort_unstable();
    if trials.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Usage("--trial: a number is named twice".into()).into());
    }
    let mut recorded = Recorded::new(&trials, flags.layout.layout());
    let mut files: Vec<(&Path, FileRead)> = Vec::new();
    for file in &flags.files {
        let read = recorded.read(capture_files::open(file)?);
        let is_over = read.failure.is_some();
        files.push((file, read));
        // What follows cannot be distinguished from a gap before it.
        if is_over {
            break;
        }
    }
    recorded.end(flags.frames);
    let is_right =
        recorded.is_right() && files.iter().all(|(_, read)| read.failure.is_none() && !read.ends_early);
    if flags.json {
        print_json(&Document::new(&files, &recorded, is_right))?;
    } else {
        print(&text(&files, &recorded))?;
    }
    match files.last() {
        Some((file, FileRead { failure: Some(failure), .. })) => Err(anyhow!("{} {failure}", file.display())),
        _ => {
            if !is_right {
                tell!("capbench: the recording is not right: {}", wrong(&files, &recorded));
            }
            Ok(exit::of_verification(is_right))
        }
    }
}

/// What is wrong, in one line.
fn wrong(files: &[(&Path, FileRead)], recorded: &Recorded) -> String {
    let other = recorded.other();
    let sum = |of: fn(&TrialFrames) -> u64| recorded.trials().iter().map(of).sum::<u64>();
    let missing = sum(|trial| trial.missing().numbers);
    let counts = [
        (sum(|trial| trial.duplicates), "duplicate"),
        (other.truncated, "cut short"),
        (other.corrupt, "damaged"),
        (other.untagged, "without their VLAN tag"),
    ];
    let mut reasons = Vec::new();
    if missing > 0 {
        reasons.push(lost(missing, missing + sum(|trial| trial.delivered)));
    }
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    reasons.extend(counts.map(|(count, what)| format!("{count} {what}")));
    let empty = recorded.trials().iter().filter(|trial| trial.delivered == 0);
    reasons.extend(empty.map(|trial| format!("no packet of trial {}", trial.trial.0)));
    let cut = files.iter().filter(|(_, read)| read.ends_early);
    reasons.extend(cut.map(|(file, _)| format!("{} ends within a record", file.display())));
    if recorded.interfaces().iter().any(RecordedInterface::contradicts_itself) {
        reasons.push("drop counts exceed the losses in the statistics".into());
    }
    reasons.join(", ")
}

fn text(files: &[(&Path, FileRead)], recorded: &Recorded) -> String {
    let mut text = String::new();
    for (file, read) in files {
        let format = read.format.map_or("of no known format", FileFormat::name);
        let end = match (&read.failure, read.ends_early) {
            (Some(failure), _) => format!("; it {failure}"),
            (None, true) => "; it ends within a record".into(),
            (None, false) => String::new(),
        };
        text.push_str(&format!("{}: {format}, {} packets{end}\n", file.display(), read.frames));
    }
    recorded.trials().iter().for_each(|trial| text.push_str(&of_trial(trial)));
    let (other, late) = (recorded.other(), recorded.late());
    text.push_str(&format!(
        "{} foreign, {} cut short, {} damaged, {} without their VLAN tag\n{} out of time order",
        other.foreign, other.truncated, other.corrupt, other.untagged, late.frames
    ));
    if late.frames > 0 {
        text.push_str(&format!(", by up to {:.6} s", late.most_ns as f64 / 1e9));
    }
    text.push('\n');
    text.push_str(&other_trials(&recorded.other_trials(), "--trial"));
    for (number, interface) in recorded.interfaces().iter().enumerate() {
        text.push_str(&of_interface(number, interface));
    }
    text
}

fn of_trial(trial: &TrialFrames) -> String {
    let missing = trial.missing();
    let mut text = format!(
        "trial {}: {} delivered once, {} duplicate, {} reordered, {}",
        trial.trial.0,
        trial.delivered,
        trial.duplicates,
        trial.reordered,
        lost(missing.numbers, trial.delivered + missing.numbers)
    );
    let ranges = trial.missing_ranges().take(RANGES).map(|range| match range.end - range.start {
        1 => range.start.to_string(),
        _ => format!("{}-{}", range.start, range.end - 1),
    });
    let listed: Vec<_> = ranges.collect();
    if missing.ranges > 0 {
        text.push_str(&format!(": {}", listed.join(", ")));
    }
    if missing.ranges > listed.len() as u64 {
        text.push_str(&format!(" and {} more ranges", missing.ranges - listed.len() as u64));
    }
    text.push('\n');
    text
}

fn of_interface(number: usize, interface: &RecordedInterface) -> String {
    let name = interface.name.as_deref().map_or_else(|| format!("interface {number}"), printable::line);
    let mut text = format!(
        "{name}: {} packets; drop counts report {} lost packets; {} of {} gaps reported by the packet that follows",
        interface.frames, interface.told, interface.gaps_told, interface.gaps
    );
    if interface.told_elsewhere > 0 {
        text.push_str(&format!("; drop counts that fit no gap: {}", interface.told_elsewhere));
    }
    text.push('\n');
    if interface.lacks_vlan_tags {
        text.push_str(&format!(
            "{name}: note: VLAN tags are missing, as the recorder says: its method does not report them\n"
        ));
    }
    if let Some(statistics) = &interface.statistics {
        text.push_str(&format!(
            "{name}: statistics: {} received, {} accepted, {} delivered; lost by the interface {}, by the system {}, \
             by the recorder {}",
            word(statistics.received),
            word(statistics.accepted),
            word(statistics.delivered),
            word(statistics.interface_dropped),
            word(statistics.system_dropped),
            word(statistics.own_dropped()),
        ));
        if interface.contradicts_itself() {
            text.push_str("; fewer than its drop counts report");
        }
        text.push('\n');
    }
    text
}
