//! What a user can set about a capture, checked before anything is opened.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use capbench_sys::SysError;
use capbench_sys::host::interface::{InterfaceIndex, index_of, name_of};
use capbench_sys::host::memory::{self, Available};

use crate::error::{CaptureError, Result};
use crate::fanout::Fanout;
use crate::filter::Filter;
use crate::mark::FrameMark;
use crate::spec::MethodSpec;

/// A number of bytes. Written and read with binary suffixes: `64MiB`, `256KiB`, `4096`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteCount(pub u64);

impl FromStr for ByteCount {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, suffix) = text.split_at(digits);
        let shift = match suffix {
            "" | "B" => 0,
            "KiB" => 10,
            "MiB" => 20,
            "GiB" => 30,
            _ => {
                return Err(format!(
                    "\"{text}\" is not a size; write for example 4096, 256KiB, 64MiB or 1GiB"
                ));
            }
        };
        let number: u64 =
            number.parse().map_err(|_| format!("\"{text}\" is not a size; write for example 64MiB"))?;
        number
            .checked_mul(1 << shift)
            .filter(|&bytes| bytes > 0)
            .map(Self)
            .ok_or_else(|| format!("\"{text}\" is out of range"))
    }
}

impl fmt::Display for ByteCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Exactly where few digits do that, so that what is printed can be asked for.
        for (shift, suffix) in [(30, "GiB"), (20, "MiB"), (10, "KiB")] {
            let count = self.0 >> shift;
            if (1..100_000).contains(&count) && self.0.trailing_zeros() >= shift {
                return write!(f, "{count}{suffix}");
            }
        }
        match self.0 {
            many if many >= 1 << 30 => write!(f, "{:.1}GiB", many as f64 / f64::from(1 << 30)),
            many if many >= 100_000 => write!(f, "{:.1}MiB", many as f64 / f64::from(1 << 20)),
            few => write!(f, "{few}B"),
        }
    }
}

/// Octets captured of each frame at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SnapLength(u32);

impl SnapLength {
    /// tcpdump's default: everything, in practice.
    pub const EVERYTHING: Self = Self(262_144);

    /// A limit; 0 and anything above the default mean the default, as for tcpdump(8).
    pub fn new(octets: u32) -> Self {
        if octets == 0 { Self::EVERYTHING } else { Self(octets.min(Self::EVERYTHING.0)) }
    }

    /// The number of octets.
    pub const fn octets(self) -> u32 {
        self.0
    }

    /// Whether frames can be cut because of it.
    pub fn cuts(self) -> bool {
        self < Self::EVERYTHING
    }
}

/// Which frames of an interface are captured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Those that arrive.
    In,
    /// Those that this host sends.
    Out,
    /// Both.
    Both,
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "in" => Ok(Self::In),
            "out" => Ok(Self::Out),
            "inout" => Ok(Self::Both),
            _ => Err(format!("\"{text}\" is not a direction; in, out and inout are")),
        }
    }
}

/// The interface to capture from, in the namespace of the thread that opens the capture.
#[derive(Clone, Debug)]
pub struct Interface {
    /// Its name, for messages.
    pub name: String,
    /// Its index.
    pub index: InterfaceIndex,
    /// Octets of network-layer data in its largest frame; decides the slot size of V1 and V2 rings.
    pub mtu: u32,
}

impl Interface {
    /// Whether the calling thread's namespace no longer has it.
    pub(crate) fn is_gone(&self) -> bool {
        // if_indextoname(3).
        const ENXIO: i32 = 6;
        name_of(self.index).is_err_and(|error| error.errno() == Some(ENXIO))
    }

    /// Looks the name up in the calling thread's namespace.
    ///
    /// # Errors
    /// When there is no such interface.
    pub fn of_name(name: &str, mtu: u32) -> std::result::Result<Self, SysError> {
        Ok(Self { name: name.into(), index: index_of(name)?, mtu })
    }
}

/// How to capture. Methods use what applies to them; [`crate::Method::options`] names it.
#[derive(Clone, Debug)]
pub struct CaptureOptions {
    /// Memory for the ring, or the socket's receive buffer for methods without one.
    pub ring: ByteCount,
    /// Block size of rings.
    pub block: ByteCount,
    /// Slot size of V1 and V2 rings; chosen to hold the interface's largest frame when `None`.
    pub frame: Option<ByteCount>,
    /// After how long a partly filled V3 block is handed over.
    pub retire_timeout: Duration,
    /// Which frames are wanted; everything when `None`. For methods with a filter of
    /// their own; the others refuse it, and [`crate::filter::SoftwareFilter`] does its work on what they give.
    pub filter: Option<Filter>,
    /// Octets captured of each frame.
    pub snap_length: SnapLength,
    /// Whether the interface is to accept frames for other hosts.
    pub promiscuous: bool,
    /// How long to look again and again for frames before sleeping in poll(2).
    pub spin: Duration,
    /// Whether each frame is to come with a hash of its flow, for methods that tell one (V3 rings). The kernel computes what
    /// the NIC has not, which costs about a tenth of its work for a small frame.
    pub flow_hashes: bool,
    /// Which frames.
    pub direction: Direction,
    /// Arguments for the environment layer of DPDK, behind its defaults.
    pub eal_arguments: Vec<String>,
    /// The trial's frames, for methods that count them where they are.
    pub mark: Option<FrameMark>,
    /// The group of captures to be a member of, for methods on packet sockets; the others refuse it.
    pub fanout: Option<Fanout>,
}

impl Default for CaptureOptions {
    fn default() -> Self {
        Self {
            ring: ByteCount(64 << 20),
            block: ByteCount(1 << 20),
            frame: None,
            retire_timeout: Duration::from_millis(10),
            filter: None,
            snap_length: SnapLength::EVERYTHING,
            promiscuous: true,
            spin: Duration::ZERO,
            flow_hashes: true,
            direction: Direction::In,
            eal_arguments: Vec::new(),
            mark: None,
            fanout: None,
        }
    }
}

/// The value of a setting that is a length of time, such as `50us`, `1ms` or `2s`; `None` when it was given without.
///
/// # Errors
/// [`CaptureError::Spec`] for anything else.
pub fn duration_of(spec: &MethodSpec, setting: &str) -> Result<Option<Duration>> {
    let Some(text) = spec.value(setting) else { return Ok(None) };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let ns = match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        _ => 0,
    };
    match number.parse::<u64>().ok().and_then(|number| number.checked_mul(ns)) {
        Some(ns) if ns > 0 => Ok(Some(Duration::from_nanos(ns))),
        _ => Err(CaptureError::Spec {
            method: spec.to_string(),
            reason: format!("+{setting}={text} is no time; write for example +{setting}=50us or 1ms"),
        }),
    }
}

/// The value of a setting that is a number from `least` to `most`; `None` when it was given without.
///
/// # Errors
/// [`CaptureError::Spec`] for anything else.
pub fn number_of(spec: &MethodSpec, setting: &str, least: u32, most: u32) -> Result<Option<u32>> {
    let Some(text) = spec.value(setting) else { return Ok(None) };
    match text.parse().ok().filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => Err(CaptureError::Spec {
            method: spec.to_string(),
            reason: format!("+{setting}={text} is no number from {least} to {most}"),
        }),
    }
}

impl CaptureOptions {
    /// The ring's size, when the kernel has the memory for it. It allocates rings at once and whole, and would sooner kill
    /// processes than refuse; so this asks first.
    ///
    /// # Errors
    /// [`CaptureError::RingTooLarge`].
    pub fn checked_ring(&self) -> Result<ByteCount> {
        self.ring_within(memory::available_on_host())
    }

    /// The same for a ring in memory of this process, which the limits of its cgroups count.
    ///
    /// # Errors
    /// [`CaptureError::RingTooLarge`].
    pub fn checked_own_ring(&self) -> Result<ByteCount> {
        self.ring_within(memory::available())
    }

    fn ring_within(&self, available: capbench_sys::Result<Available>) -> Result<ByteCount> {
        match available {
            Ok(available) if self.ring.0 > available.bytes / 10 * 9 => {
                Err(CaptureError::RingTooLarge { asked: self.ring, available })
            }
            _ => Ok(self.ring),
        }
    }

    /// The retire timeout in the kernel's unit.
    ///
    /// # Errors
    /// When it is not a number of whole milliseconds.
    pub fn retire_milliseconds(&self) -> Result<u32> {
        let refuse =
            |reason: &str| Err(CaptureError::Option { option: "--retire-timeout", reason: reason.into() });
        if !self.retire_timeout.subsec_nanos().is_multiple_of(1_000_000) {
            return refuse("the kernel knows whole milliseconds only");
        }
        match u32::try_from(self.retire_timeout.as_millis()) {
            Ok(milliseconds) if milliseconds <= u32::from(u16::MAX) => Ok(milliseconds),
            _ => refuse("at most 65535 ms are possible"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ByteCount, CaptureOptions, SnapLength};

    #[test]
    fn sizes_are_read_and_written_alike() {
        for text in ["1B", "4096B", "4KiB", "64MiB", "3GiB"] {
            let size: ByteCount = text.parse().unwrap();
            assert_eq!(size, size.to_string().parse().unwrap());
        }
        assert_eq!("4096".parse::<ByteCount>().unwrap().to_string(), "4KiB");
        assert_eq!(ByteCount(24_250_212 << 10).to_string(), "23.1GiB");
        for text in ["", "0", "MiB", "64MB", "-1", "1.5MiB", "99999999999GiB"] {
            assert!(text.parse::<ByteCount>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_ring_larger_than_memory_is_refused_before_the_kernel_is_asked() {
        let options = CaptureOptions { ring: "8388608GiB".parse().unwrap(), ..CaptureOptions::default() };
        let text = options.checked_ring().unwrap_err().to_string();
        assert!(text.starts_with("--ring ") && text.contains("larger than the memory"), "{text}");
    }

    #[test]
    fn a_snap_length_of_0_means_everything() {
        assert_eq!(SnapLength::new(0), SnapLength::EVERYTHING);
        assert!(SnapLength::new(96).cuts());
        assert!(!SnapLength::new(u32::MAX).cuts());
    }
}
