//! `send --replay`: the flags of a capture file that is sent, and what is read of it.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use capbench_frames::{MacAddress, Mtu, RecordedTimes, Schedule, Speed};
use capbench_model::units::ByteCount;
use capbench_record::file::MendedLengths;
use capbench_record::replay::{self, Replay, ReplayOptions, Unsendable, WantedTimes};
use capbench_sys::host::{LinkLayer, memory};
use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::capture_files;
use crate::exit::Usage;

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Replay")]
pub struct ReplayFlags {
    /// Send the frames of a capture file (pcap, pcapng; - is standard input) byte for byte, at their own times or at --rate
    #[arg(
        long = "replay",
        value_name = "FILE",
        conflicts_with_all = ["size", "dain_2004", "flows", "vlan", "ipv6", "tcp", "trial"]
    )]
    file: Option<PathBuf>,
    /// Send at the file's times, FACTOR times as fast [default: 1]
    #[arg(long, value_name = "FACTOR", requires = "file", conflicts_with_all = ["rate", "wait_loop"])]
    speed: Option<Speed>,
    /// Send the file this many times, with its mean interval in between [default: 1]
    #[arg(long, value_name = "N", requires = "file")]
    loops: Option<NonZeroU64>,
    /// Leave out frames that cannot be sent as they were: other-link, cut-short, too-short, too-long, not-ip [default: refuse
    /// the file]
    #[arg(long, value_name = "KINDS", requires = "file", value_delimiter = ',')]
    leave_out: Vec<Unsendable>,
    /// Send frames whose time is before that of the frame in front of them right after that one [default: refuse the file]
    #[arg(long, requires = "file", conflicts_with_all = ["rate", "wait_loop"])]
    unsorted: bool,
    /// Replace the source Ethernet address of every frame; --dst-mac replaces the destination
    #[arg(long, value_name = "MAC", requires = "file")]
    src_mac: Option<MacAddress>,
}

/// The frames of a file, and when they are sent.
pub struct Loaded {
    file: PathBuf,
    pub replay: Replay,
    /// The times of the file, if they are wanted.
    pub schedule: Option<Schedule>,
    /// Frames of all loops, or the number of `--count`.
    pub frames: u64,
    span_s: f64,
}

impl ReplayFlags {
    /// Whether a file is to be sent.
    pub fn is_given(&self) -> bool {
        self.file.is_some()
    }

    /// Reads the file, if there is one. `count` is that of `--count`; `own_times`: nothing else says when to send.
    pub fn load(
        self,
        layer: LinkLayer,
        mtu: Mtu,
        destination: Option<MacAddress>,
        count: Option<u64>,
        own_times: bool,
    ) -> Result<Option<Loaded>> {
        let Some(file) = self.file else { return Ok(None) };
        if layer == LinkLayer::Ip && (destination.is_some() || self.src_mac.is_some()) {
            let why = "this interface has IP packets without Ethernet addresses; leave the flag out";
            return Err(Usage(format!("--dst-mac, --src-mac: {why}")).into());
        }
        let options = ReplayOptions {
            layer,
            mtu,
            most_frames: count.unwrap_or(u64::MAX),
            memory: ByteCount(memory::available()?.bytes / 2),
            destination,
            source: self.src_mac,
            leave_out: self.leave_out,
            times: match (own_times, self.unsorted) {
                (false, _) => WantedTimes::Nothing,
                (true, false) => WantedTimes::Sorted,
                (true, true) => WantedTimes::Raised,
            },
        };
        let replay = replay::read(capture_files::open(&file)?, &options);
        let mut replay = replay.map_err(|error| anyhow!("{} {error}", file.display()))?;
        let times = std::mem::take(&mut replay.times);
        let speed = self.speed.unwrap_or(Speed::RECORDED);
        let times = own_times.then(|| RecordedTimes::new(times, speed)).transpose()?;
        let loops = self.loops.map_or(1, NonZeroU64::get);
        if loops > 1 && times.as_ref().is_some_and(|times| times.period_ns() == 0) {
            return Err(Usage(format!(
                "--loops {loops}: the frames of {} have no interval that says when to repeat them; state a rate (--rate R, or \
                 --rate max)",
                file.display()
            ))
            .into());
        }
        let frames = replay.frames.count().saturating_mul(loops).min(count.unwrap_or(u64::MAX));
        let span_s = times.as_ref().map_or(0.0, |times| times.last_ns() as f64 / 1e9);
        let schedule = times.map(|times| Schedule::Recorded(Arc::new(times)));
        Ok(Some(Loaded { file, replay, schedule, frames, span_s }))
    }
}

impl Loaded {
    /// The frames in words: what a plan prints.
    pub fn in_words(&self) -> String {
        let (file, frames) = (self.file.display(), &self.replay.frames);
        let times = match self.schedule {
            Some(_) => format!(", over {:.6} s", self.span_s),
            None => String::new(),
        };
        format!("{file}: {} frames of up to {} bytes{times}", frames.count(), frames.largest_octets())
    }

    /// A line on each kind of frames that are left out, or whose length is another one than in the file.
    pub fn notes(&self) -> Vec<String> {
        let MendedLengths { cut, raised } = self.replay.mended_lengths;
        let mut notes: Vec<_> = self.left_out_in_words().into_iter().collect();
        for (frames, what) in [
            (
                self.replay.without_fcs,
                "are sent without the FCS that the file has of them: the interface adds its own",
            ),
            (cut, "have more captured octets than their original length; their original length is sent"),
            (raised, "have an original length of 0; their captured length replaces it"),
        ] {
            if frames > 0 {
                notes.push(format!("{}: {frames} frames {what}", self.file.display()));
            }
        }
        notes
    }

    /// One line on the frames left out; `None` if there are none.
    fn left_out_in_words(&self) -> Option<String> {
        let each = Unsendable::ALL.iter().zip(self.replay.left_out).filter(|(_, frames)| *frames > 0);
        let each: Vec<_> = each.map(|(kind, frames)| format!("{frames} {kind}")).collect();
        (!each.is_empty()).then(|| format!("{}: frames left out: {}", self.file.display(), each.join(", ")))
    }

    pub fn document(&self) -> ReplayDocument {
        let Replay { left_out, without_fcs, mended_lengths, .. } = &self.replay;
        let [other_link, cut_short, too_short, too_long, not_ip] = *left_out;
        let file = self.file.display().to_string();
        ReplayDocument {
            file,
            frames: self.replay.frames.count(),
            other_link,
            cut_short,
            too_short,
            too_long,
            not_ip,
            without_fcs: *without_fcs,
            longer_than_original: mended_lengths.cut + mended_lengths.raised,
        }
    }
}

/// The capture file whose frames were sent.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReplayDocument {
    /// Its name.
    file: String,
    /// Its frames that are sent in each loop.
    frames: u64,
    /// Its frames left out because their link has another type than the sending one.
    other_link: u64,
    /// Its frames left out because they were captured in part.
    cut_short: u64,
    /// Its frames left out because they are shorter than the header of Ethernet, or of IP on a link without Ethernet.
    too_short: u64,
    /// Its frames left out because they are longer than the MTU allows.
    too_long: u64,
    /// Its frames left out because they are neither IPv4 nor IPv6, on a link without Ethernet.
    not_ip: u64,
    /// Its frames sent without the FCS that the file has of them.
    without_fcs: u64,
    /// Its frames that had more captured octets than their original length.
    longer_than_original: u64,
}
