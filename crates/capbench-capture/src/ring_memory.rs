//! Checks that the kernel has memory for the requested ring.

use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;
use capbench_sys::host::memory::{self, Available};

use crate::{CaptureError, Result};

/// The ring's size, if the kernel has the memory for it. The kernel allocates a ring at once and would rather kill processes
/// than refuse, so this checks first.
///
/// # Errors
/// [`CaptureError::RingTooLarge`].
pub fn checked_ring(options: &CaptureOptions) -> Result<ByteCount> {
    ring_within(options, memory::available_on_host())
}

/// The same for a ring in memory of this process, which counts against the limits of its cgroups.
///
/// # Errors
/// [`CaptureError::RingTooLarge`].
pub fn checked_own_ring(options: &CaptureOptions) -> Result<ByteCount> {
    ring_within(options, memory::available())
}

fn ring_within(options: &CaptureOptions, available: capbench_sys::Result<Available>) -> Result<ByteCount> {
    match available {
        Ok(available) if options.ring.0 > available.bytes / 10 * 9 => {
            Err(CaptureError::RingTooLarge { asked: options.ring, available })
        }
        _ => Ok(options.ring),
    }
}

/// How many blocks or slots every ring has, where the largest frame allows it. The kernel fills one while the application reads
/// others: a ring of few of them loses frames although most of its memory is free.
pub const LEAST_PARTS: u64 = 8;

/// What is said of a ring with too few blocks or slots (`parts`, of `octets` octets each).
pub fn too_few(parts: u64, octets: u64, name: &str) -> Option<String> {
    (parts < LEAST_PARTS).then(|| {
        format!(
            "its ring has {parts} {name} of {}, and loses frames while most of it is free: --ring {} has {LEAST_PARTS}",
            ByteCount(octets),
            ByteCount(octets * LEAST_PARTS)
        )
    })
}

/// What is said of slots, blocks or buffers whose `room` does not hold the longest frame, of `longest` octets. `remedy` makes them
/// larger.
pub fn too_small(room: u64, longest: u64, name: &str, remedy: &str) -> Option<String> {
    (room < longest).then(|| {
        format!("frames longer than {room} octets are cut: {name} hold no more, and frames of {longest} can come; {remedy}")
    })
}

/// The retire timeout in milliseconds, the kernel's unit.
///
/// # Errors
/// When it is not a whole number of milliseconds.
pub fn retire_milliseconds(options: &CaptureOptions) -> Result<u32> {
    let refuse =
        |reason: &str| Err(CaptureError::Option { option: "--retire-timeout", reason: reason.into() });
    if !options.retire_timeout.subsec_nanos().is_multiple_of(1_000_000) {
        return refuse("the kernel knows whole milliseconds only");
    }
    match u32::try_from(options.retire_timeout.as_millis()) {
        Ok(milliseconds) if milliseconds <= u32::from(u16::MAX) => Ok(milliseconds),
        _ => refuse("up to 65535 ms are possible"),
    }
}

#[cfg(test)]
mod tests {
    use super::{CaptureOptions, checked_ring};

    #[test]
    fn a_ring_larger_than_memory_is_refused_before_the_kernel_is_asked() {
        let options = CaptureOptions { ring: "8388608GiB".parse().unwrap(), ..CaptureOptions::default() };
        let text = checked_ring(&options).unwrap_err().to_string();
        assert!(text.starts_with("--ring ") && text.contains("larger than the memory"), "{text}");
    }
}
