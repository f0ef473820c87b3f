//! What a user can set about a capture, checked before anything is opened.

use std::time::Duration;

use capbench_sys::host::memory::{self, Available};

use crate::error::{CaptureError, Result};
use crate::fanout::Fanout;
use crate::filter::Filter;
use crate::interface::Direction;
use crate::mark::FrameMark;
use crate::units::{ByteCount, SnapLength};

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
    use super::CaptureOptions;

    #[test]
    fn a_ring_larger_than_memory_is_refused_before_the_kernel_is_asked() {
        let options = CaptureOptions { ring: "8388608GiB".parse().unwrap(), ..CaptureOptions::default() };
        let text = options.checked_ring().unwrap_err().to_string();
        assert!(text.starts_with("--ring ") && text.contains("larger than the memory"), "{text}");
    }
}
