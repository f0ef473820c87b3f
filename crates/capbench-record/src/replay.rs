//! Reads the frames of a capture file that are to be sent again, with their times.
//!
//! The whole file is in memory before the first frame is sent, so that no disk delays a frame. Each frame that cannot be sent
//! as it was is an error, unless its kind is to be left out. Frames left out are counted.

use std::fmt;
use std::io::Read;
use std::str::FromStr;
use std::time::Duration;

use capbench_frames::recorded::{ip_header_octets, needed_mtu, size};
use capbench_frames::{FrameError, MacAddress, Mtu, RecordedFrames, RecordedTimes};
use capbench_model::units::ByteCount;
use capbench_sys::host::LinkLayer;

use crate::file::{
    CaptureReader, ETHERNET, FileError, MendedLengths, Packet, RAW_IP, Record, link_type_name, link_type_of,
};

/// What to read of a file, for an interface.
#[derive(Clone, Debug)]
pub struct ReplayOptions {
    /// What the packets of the sending interface begin with.
    pub layer: LinkLayer,
    /// The MTU of the sending interface.
    pub mtu: Mtu,
    /// Ends after this many frames. The rest of the file is not read.
    pub most_frames: u64,
    /// Most memory for the frames.
    pub memory: ByteCount,
    /// Replaces the destination addresses.
    pub destination: Option<MacAddress>,
    /// Replaces the source addresses.
    pub source: Option<MacAddress>,
    /// Frames to leave out.
    pub leave_out: Vec<Unsendable>,
    /// Whether the times are needed, and which are allowed.
    pub times: WantedTimes,
}

/// Which times of the frames a sender needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantedTimes {
    /// None.
    Nothing,
    /// One for each frame, none before the one in front of it.
    Sorted,
    /// One for each frame. A time before the one in front of it becomes that one.
    Raised,
}

/// A kind of frame that an interface cannot send as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsendable {
    /// Of a link of another type than the sending one.
    OtherLink,
    /// Captured only in part.
    CutShort,
    /// Shorter than the header that the link needs: of Ethernet, or of IP.
    TooShort,
    /// Longer than the interface's MTU allows.
    TooLong,
    /// Neither IPv4 nor IPv6, for a link without Ethernet.
    NotIp,
}

impl Unsendable {
    /// All kinds.
    pub const ALL: [Self; 5] = [Self::OtherLink, Self::CutShort, Self::TooShort, Self::TooLong, Self::NotIp];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::OtherLink => "other-link",
            Self::CutShort => "cut-short",
            Self::TooShort => "too-short",
            Self::TooLong => "too-long",
            Self::NotIp => "not-ip",
        }
    }
}

impl fmt::Display for Unsendable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Unsendable {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|kind| kind.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("\"{text}\" is no kind of frames; there are: {names}")
        })
    }
}

/// Frames to send.
#[derive(Clone, Debug)]
pub struct Replay {
    /// The frames.
    pub frames: RecordedFrames,
    /// A time for each in nanoseconds since the epoch; empty if none were wanted.
    pub times: Vec<u64>,
    /// Frames left out, of each kind in the order of [`Unsendable::ALL`].
    pub left_out: [u64; Unsendable::ALL.len()],
    /// Frames whose frame check sequence is in the file. It is not sent: the interface adds its own.
    pub without_fcs: u64,
    /// Packets with more captured octets than their original length.
    pub mended_lengths: MendedLengths,
}

/// Why a file cannot be sent. Each message continues a sentence about the file, and numbers its frames from 1.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The file cannot be read from some position on.
    #[error("{source}{}", with_count(*frames))]
    Input {
        /// The error of the reader.
        source: FileError,
        /// Frames before.
        frames: u64,
    },
    /// The file ends within a record.
    #[error("ends within a record{}", with_count(*.0))]
    EndsEarly(u64),
    /// No frame, or none is left.
    #[error("has no frame to send")]
    Nothing,
    /// A frame of another link type.
    #[error(
        "has frame {number} of link type {link_type}, and this interface's is {}, {}: send it on a link of its type ({}), or leave \
         such frames out with --leave-out other-link",
        link_type_of(*.layer),
        link_type_name(*.layer),
        links_of(*.link_type)
    )]
    OtherLink {
        /// Its number.
        number: u64,
        /// Its link type.
        link_type: u16,
        /// The sending interface's.
        layer: LinkLayer,
    },
    /// A frame captured in part.
    #[error(
        "has {captured} of the {original} octets of frame {number}: capture whole frames, or leave such frames out with \
         --leave-out cut-short"
    )]
    CutShort {
        /// Its number.
        number: u64,
        /// Captured octets.
        captured: usize,
        /// Octets on the wire.
        original: u32,
    },
    /// A frame without a whole header.
    #[error(
        "has frame {number} of {octets} octets, shorter than an {} header: leave such frames out with --leave-out \
         too-short",
        header_name(*.layer)
    )]
    TooShort {
        /// Its number.
        number: u64,
        /// Its octets.
        octets: usize,
        /// The sending interface's.
        layer: LinkLayer,
    },
    /// A packet that a link without Ethernet cannot send.
    #[error("has frame {0}, which is neither IPv4 nor IPv6: leave such frames out with --leave-out not-ip")]
    NotIp(u64),
    /// A frame beyond the MTU.
    #[error(
        "has frame {number} of {octets} octets, which needs an MTU of {needed}, but the interface has {}: raise it (ip link set \
         dev IF mtu {needed}), or leave such frames out with --leave-out too-long",
        mtu.0
    )]
    TooLong {
        /// Its number.
        number: u64,
        /// Its octets, without FCS.
        octets: usize,
        /// The MTU that it needs.
        needed: u32,
        /// The MTU of the interface.
        mtu: Mtu,
    },
    /// A frame longer than any that capbench sends.
    #[error("has frame {number}: {source}; leave such frames out with --leave-out too-long")]
    Size {
        /// Its number.
        number: u64,
        /// The limits.
        source: FrameError,
    },
    /// A frame without time.
    #[error("has no time for frame {0}: send at a rate (--rate R, or --rate max)")]
    NoTime(u64),
    /// A time that goes backwards.
    #[error(
        "has frame {number} {} before the frame in front of it: sort it (reordercap), send such frames at once (--unsorted), or \
         send at a rate (--rate R)",
        seconds(*.by_ns)
    )]
    Backwards {
        /// Its number.
        number: u64,
        /// How far its time is before the one in front of it.
        by_ns: u64,
    },
    /// The frames need too much memory.
    #[error(
        "has more than {memory} of frames, half of the available memory: send its first {frames} frames with -c {frames}, or split \
         it (editcap -c {frames})"
    )]
    Memory {
        /// The limit.
        memory: ByteCount,
        /// Frames that fit.
        frames: u64,
    },
}

/// Link types that Linux can send, and where.
fn links_of(link_type: u16) -> &'static str {
    match link_type {
        ETHERNET => "Ethernet",
        _ if is_raw_ip(link_type) => "tun, PPP, WireGuard, an IP tunnel",
        _ => "capbench knows none",
    }
}

fn header_name(layer: LinkLayer) -> &'static str {
    match layer {
        LinkLayer::Ethernet => "Ethernet",
        LinkLayer::Ip => "IP",
    }
}

/// Whether packets of a link type begin with an IP header: `LINKTYPE_RAW`, `LINKTYPE_IPV4`, `LINKTYPE_IPV6`, and 12, which some
/// programs write for the first.
fn is_raw_ip(link_type: u16) -> bool {
    matches!(link_type, RAW_IP | 228 | 229 | 12)
}

fn with_count(frames: u64) -> String {
    match frames {
        0 => String::new(),
        _ => format!("; -c {frames} sends the frames before"),
    }
}

fn seconds(ns: u64) -> String {
    format!("{:?}", Duration::from_nanos(ns))
}

/// Reads the frames to send.
///
/// # Errors
/// A file that cannot be read, or a frame that cannot be sent as it was and is not to be left out.
pub fn read(source: impl Read, options: &ReplayOptions) -> Result<Replay, ReplayError> {
    let mut reader = CaptureReader::new(source).map_err(|source| ReplayError::Input { source, frames: 0 })?;
    let mut reading =
        Reading { options, frames: None, times: Vec::new(), octets: 0, left_out: [0; 5], without_fcs: 0 };
    // The interfaces of the section, by number.
    let mut link_types = Vec::new();
    let mut number = 0;
    while reading.count() < options.most_frames {
        let record = reader.next_record();
        let record = record.map_err(|source| ReplayError::Input { source, frames: reading.count() })?;
        let Some(record) = record else {
            if reader.ends_early() {
                return Err(ReplayError::EndsEarly(reading.count()));
            }
            break;
        };
        match record {
            Record::Section(_) => link_types.clear(),
            Record::Interface(_, interface) => link_types.push(interface.link_type),
            Record::Packet(packet) => {
                number += 1;
                // The reader refuses packets of interfaces that it does not know.
                let link_type = link_types.get(packet.interface as usize).copied().unwrap_or(ETHERNET);
                reading.take(number, link_type, &packet)?;
            }
            Record::Statistics(_) | Record::Other => {}
        }
    }
    let Reading { frames, times, left_out, without_fcs, .. } = reading;
    let frames = frames.ok_or(ReplayError::Nothing)?;
    let frames = match options.layer {
        LinkLayer::Ethernet => frames,
        LinkLayer::Ip => frames.without_fcs(),
    };
    Ok(Replay { frames, times, left_out, without_fcs, mended_lengths: reader.mended_lengths() })
}

/// The frames read so far.
struct Reading<'a> {
    options: &'a ReplayOptions,
    frames: Option<RecordedFrames>,
    times: Vec<u64>,
    /// Memory used.
    octets: u64,
    left_out: [u64; Unsendable::ALL.len()],
    without_fcs: u64,
}

impl Reading<'_> {
    fn count(&self) -> u64 {
        self.frames.as_ref().map_or(0, RecordedFrames::count)
    }

    fn take(&mut self, number: u64, link_type: u16, packet: &Packet<'_>) -> Result<(), ReplayError> {
        let (data, original) = packet.without_fcs();
        if let Err((kind, error)) = self.check(number, link_type, data, original) {
            if !self.options.leave_out.contains(&kind) {
                return Err(error);
            }
            self.left_out[kind as usize] += 1;
            return Ok(());
        }
        self.without_fcs += u64::from(data.len() < packet.data.len());
        self.octets += (data.len() + RecordedFrames::OVERHEAD + RecordedTimes::OVERHEAD) as u64;
        if self.octets > self.options.memory.0 {
            return Err(ReplayError::Memory { memory: self.options.memory, frames: self.count() });
        }
        if self.options.times != WantedTimes::Nothing {
            let time = packet.time_ns.ok_or(ReplayError::NoTime(number))?;
            let before = self.times.last().copied().unwrap_or(0);
            if time < before && self.options.times == WantedTimes::Sorted {
                return Err(ReplayError::Backwards { number, by_ns: before - time });
            }
            self.times.push(time.max(before));
        }
        let too_long = |source| ReplayError::Size { number, source };
        let frames = match &mut self.frames {
            Some(frames) => {
                frames.push(data).map_err(too_long)?;
                frames
            }
            none => none.insert(RecordedFrames::new(data).map_err(too_long)?),
        };
        let frame = frames.last_mut();
        // Addresses are replaced on Ethernet only.
        for (address, at) in [(self.options.destination, 0), (self.options.source, 6)] {
            if let Some(MacAddress(octets)) = address {
                frame[at..at + octets.len()].copy_from_slice(&octets);
            }
        }
        Ok(())
    }

    /// Whether the interface can send a frame as it was.
    fn check(
        &self,
        number: u64,
        link_type: u16,
        frame: &[u8],
        original: u32,
    ) -> Result<(), (Unsendable, ReplayError)> {
        let ReplayOptions { layer, mtu, .. } = *self.options;
        let octets = frame.len();
        let is_of_link = match layer {
            LinkLayer::Ethernet => link_type == ETHERNET,
            LinkLayer::Ip => is_raw_ip(link_type),
        };
        if !is_of_link {
            return Err((Unsendable::OtherLink, ReplayError::OtherLink { number, link_type, layer }));
        }
        if octets < original as usize {
            let error = ReplayError::CutShort { number, captured: octets, original };
            return Err((Unsendable::CutShort, error));
        }
        let shortest = match layer {
            LinkLayer::Ethernet => RecordedFrames::SHORTEST,
            LinkLayer::Ip if octets == 0 => 1,
            LinkLayer::Ip => {
                ip_header_octets(frame).ok_or((Unsendable::NotIp, ReplayError::NotIp(number)))?
            }
        };
        if octets < shortest {
            return Err((Unsendable::TooShort, ReplayError::TooShort { number, octets, layer }));
        }
        let needed = match layer {
            LinkLayer::Ethernet => needed_mtu(frame),
            LinkLayer::Ip => octets as u32,
        };
        if needed > mtu.0 {
            let error = ReplayError::TooLong { number, octets, needed, mtu };
            return Err((Unsendable::TooLong, error));
        }
        // An interface can have an MTU of 65,536.
        size(frame).map(drop).map_err(|source| (Unsendable::TooLong, ReplayError::Size { number, source }))
    }
}

#[cfg(test)]
mod tests;
