//! `capbench verify`: whether capture files are a complete recording, by the stamps of `capbench send`, else by what they say.

pub mod document;
mod recording;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use capbench_frames::TrialId;
use capbench_lab::recorded::{FaultByStamps, FileOrder, FileRead, Recorded, RecordedInterface, TrialFrames};
use capbench_record::file::FileFormat;
use capbench_report::printable;
use clap::Args;

use self::document::{Document, RANGES};
use self::recording::NamedVerdict;
use crate::capture_files;
use crate::exit::{self, Exit, Usage};
use crate::flags::LayoutFlags;
use crate::output::{print, print_json};
use crate::status::{lost, other_trials, word};

#[derive(Args, Clone, Debug)]
pub struct VerifyFlags {
    /// Capture files, pcapng or pcap, also compressed with Zstandard; several are one recording, in any order; - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Numbers that the stamps carry, as given to `capbench send --trial`; several for several senders: 7,8,9 [default: 1, if
    /// there are such frames; else no stamps are looked for]
    #[arg(long, value_name = "ID", value_delimiter = ',')]
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

pub fn run(flags: &VerifyFlags) -> Result<Exit> {
    let asks_for_stamps = !flags.trial.is_empty() || flags.frames.is_some();
    let mut trials: Vec<_> = flags.trial.iter().copied().map(TrialId).collect();
    if trials.is_empty() {
        trials.push(TrialId(1));
    }
    trials.sort_unstable();
    if trials.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(Usage("--trial: a number is named twice".into()).into());
    }
    let mut recorded = Recorded::new(&trials, flags.layout.layout(), asks_for_stamps);
    let order = in_order(&flags.files)?;
    let mut files: Vec<(&Path, FileRead)> = Vec::new();
    for file in order {
        let read = recorded.read(capture_files::open(file)?);
        let is_over = read.failure.is_some();
        files.push((file, read));
        // What follows cannot be distinguished from a gap before it.
        if is_over {
            break;
        }
    }
    recorded.end(flags.frames);
    let verdict = recorded.verdict();
    let has_stamps = recorded.has_stamps();
    let is_right = recorded.is_right();
    if flags.json {
        print_json(&Document::new(&files, &recorded, &verdict, is_right))?;
    } else {
        if !has_stamps && is_readable(&files) {
            let named = NamedVerdict { verdict: &verdict, files: &files, interfaces: recorded.interfaces() };
            print(&named.sentence())?;
        }
        print(&text(&flags.files, &files, &recorded, has_stamps))?;
    }
    match files.last() {
        Some((file, FileRead { failure: Some(failure), .. })) => Err(anyhow!("{} {failure}", file.display())),
        _ if !has_stamps => Ok(exit::of_completeness(verdict.completeness)),
        _ => {
            if !is_right {
                tell!("capbench: the recording is not right: {}", wrong(&files, &recorded));
            }
            Ok(exit::of_verification(is_right))
        }
    }
}

/// Whether all files could be read.
fn is_readable(files: &[(&Path, FileRead)]) -> bool {
    files.iter().all(|(_, read)| read.failure.is_none())
}

/// The files in the order of their packets. Standard input can be read only once, so with it the order is as given.
fn in_order(files: &[PathBuf]) -> Result<Vec<&Path>> {
    let mut ordered: Vec<_> = files.iter().map(|file| (FileOrder::default(), file.as_path())).collect();
    if files.len() > 1 && files.iter().all(|file| file.as_os_str() != "-") {
        for (order, file) in &mut ordered {
            *order = FileOrder::read(capture_files::open(file)?);
        }
        ordered.sort_by_key(|(order, _)| *order);
    }
    Ok(ordered.into_iter().map(|(_, file)| file).collect())
}

/// What is wrong, in one line.
fn wrong(files: &[(&Path, FileRead)], recorded: &Recorded) -> String {
    let mut reasons = Vec::new();
    for fault in recorded.faults_by_stamps() {
        reasons.push(match fault {
            FaultByStamps::Missing { frames, of } => lost(frames, of),
            FaultByStamps::Duplicate { frames } => format!("{frames} duplicate"),
            FaultByStamps::Truncated { frames } => format!("{frames} cut short"),
            FaultByStamps::Corrupt { frames } => format!("{frames} damaged"),
            FaultByStamps::Untagged { frames } => format!("{frames} without their VLAN tag"),
            FaultByStamps::NoFrame { trial } => format!("no packet of trial {}", trial.0),
            FaultByStamps::EndsEarly { file } => format!("{} ends within a record", files[file].0.display()),
            FaultByStamps::Unreadable { file } => {
                format!("{} cannot be read to its end", files[file].0.display())
            }
            FaultByStamps::Contradiction => "drop counts exceed the losses in the statistics".into(),
        });
    }
    reasons.join(", ")
}

fn text(given: &[PathBuf], files: &[(&Path, FileRead)], recorded: &Recorded, has_stamps: bool) -> String {
    let mut text = String::new();
    if given.iter().zip(files).any(|(given, (file, _))| given != file) {
        text.push_str("the files are read in the order of their packets:\n");
    }
    for (file, read) in files {
        let format = read.format.map_or("of no known format", FileFormat::name);
        let end = match (&read.failure, read.ends_early) {
            (Some(failure), _) => format!("; it {failure}"),
            (None, true) => "; it ends within a record".into(),
            (None, false) => String::new(),
        };
        text.push_str(&format!("{}: {format}, {} packets{end}\n", file.display(), read.frames));
    }
    let (other, late) = (recorded.other(), recorded.late());
    if has_stamps {
        recorded.trials().iter().for_each(|trial| text.push_str(&of_trial(trial)));
        text.push_str(&format!(
            "{} foreign, {} cut short, {} damaged, {} without their VLAN tag\n",
            other.foreign, other.truncated, other.corrupt, other.untagged
        ));
    }
    text.push_str(&format!("{} out of time order", late.frames));
    if late.frames > 0 {
        text.push_str(&format!(", by up to {:.6} s", late.most_ns as f64 / 1e9));
    }
    text.push('\n');
    text.push_str(&other_trials(&recorded.other_trials(), "--trial"));
    for (number, interface) in recorded.interfaces().iter().enumerate() {
        text.push_str(&of_interface(number, interface, has_stamps));
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

/// The name of an interface, or its number in the file.
fn name_of_interface(number: usize, interface: &RecordedInterface) -> String {
    interface.name.as_deref().map_or_else(|| format!("interface {number}"), printable::line)
}

fn of_interface(number: usize, interface: &RecordedInterface, has_stamps: bool) -> String {
    let name = name_of_interface(number, interface);
    let mut text =
        format!("{name}: {} packets; drop counts report {} lost packets", interface.frames, interface.told);
    if has_stamps {
        let RecordedInterface { gaps_told, gaps, .. } = interface;
        text.push_str(&format!("; {gaps_told} of {gaps} gaps reported by the packet that follows"));
    }
    if has_stamps && interface.told_elsewhere > 0 {
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
