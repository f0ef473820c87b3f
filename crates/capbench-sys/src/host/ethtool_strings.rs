//! The names of what ethtool numbers: `ETHTOOL_GSSET_INFO` and `ETHTOOL_GSTRINGS` of linux/ethtool.h, and calls whose answer
//! has no fixed length. In the network namespace of the calling thread; no privilege is needed.

use super::driver_info::text;
use super::ethtool::{Request, ethtool, interface_request};
use super::guarded::GuardedMemory;
use crate::{Result, SysError};

const GET_STRINGS: u32 = 0x1b;
const GET_SET_INFO: u32 = 0x37;
/// `ETH_GSTRING_LEN`: octets of a name.
const NAME: usize = 32;
/// Octets in front of the names in `struct ethtool_gstrings`.
const STRINGS_HEAD: usize = 12;
/// More than any driver has: those with the most count some 50 things on each of some hundred queues.
const MOST: usize = 1 << 16;

/// A set of names, by its number in `enum ethtool_stringset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringSet {
    /// `ETH_SS_STATS`: the driver's counters.
    Counters = 1,
    /// `ETH_SS_PRIV_FLAGS`: the driver's own switches.
    PrivateFlags = 2,
    /// `ETH_SS_FEATURES`: the offloads that the kernel knows.
    Features = 4,
}

/// `struct ethtool_sset_info` with room for one set.
#[repr(C)]
struct SetInfo {
    command: u32,
    reserved: u32,
    sets: u64,
    length: u32,
}

// SAFETY: ETHTOOL_GSSET_INFO reads the head and writes it, and one length for each of the sets asked for, of which there
// is one.
unsafe impl Request for SetInfo {}

/// How many names there are; `None` where there are none.
pub(super) fn number(interface: &str, set: StringSet) -> Result<Option<usize>> {
    let mut info = SetInfo { command: GET_SET_INFO, reserved: 0, sets: 1 << set as u32, length: 0 };
    match ethtool(interface, &mut info, "ETHTOOL_GSSET_INFO") {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        answered => answered?,
    }
    let count = info.length as usize;
    if info.sets == 0 || count == 0 {
        return Ok(None);
    }
    if count > MOST {
        return Err(SysError::argument(
            format!("ioctl(ETHTOOL_GSSET_INFO, {interface})"),
            format!("the driver claims {count} names, more than {MOST}"),
        ));
    }
    Ok(Some(count))
}

/// The names, in the kernel's order; fewer than `count` where their number has become another one.
pub(super) fn names(interface: &str, set: StringSet, count: usize) -> Result<Vec<String>> {
    let head = [GET_STRINGS, set as u32, count as u32].map(u32::to_ne_bytes).concat();
    let mut memory = ask(interface, &head, STRINGS_HEAD + count * NAME, "ETHTOOL_GSTRINGS")?;
    let (head, body) = memory.bytes().split_at(STRINGS_HEAD);
    let answered = u32_at(head, 8).min(count);
    Ok(body.chunks_exact(NAME).take(answered).map(text).collect())
}

/// Makes a call whose answer, `length` octets long, the kernel writes over the question. Kernels before 6.12 write as much
/// as there is at that moment, whatever was asked for.
pub(super) fn ask(interface: &str, question: &[u8], length: usize, name: &str) -> Result<GuardedMemory> {
    let mut memory = GuardedMemory::new(length)?;
    memory.bytes()[..question.len()].copy_from_slice(question);
    let data = libc::__c_anonymous_ifr_ifru { ifru_data: memory.bytes().as_mut_ptr().cast() };
    // SAFETY: SIOCETHTOOL reads the question and writes the answer from `ifr_data` on (linux/ethtool.h). The memory is
    // exclusively ours, alive, and ends at a guard page, at which the kernel stops with EFAULT should the answer have
    // become longer than `length`.
    match unsafe { interface_request(interface, libc::SIOCETHTOOL, data, name) } {
        // The answer has become longer: an empty one makes the caller ask anew.
        Err(error) if error.errno() == Some(libc::EFAULT) => memory.bytes().fill(0),
        answered => drop(answered?),
    }
    Ok(memory)
}

/// A word of an answer.
pub(super) fn u32_at(octets: &[u8], at: usize) -> usize {
    let word = octets[at..at + 4].try_into().expect("four octets were taken");
    u32::from_ne_bytes(word) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        assert_eq!(std::mem::offset_of!(SetInfo, sets), 8);
        assert_eq!(std::mem::offset_of!(SetInfo, length), 16);
    }
}
