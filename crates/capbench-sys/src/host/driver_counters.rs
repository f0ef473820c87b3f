//! A driver's own counters, what `ethtool -S` prints: `ETHTOOL_GSSET_INFO`, `ETHTOOL_GSTRINGS` and `ETHTOOL_GSTATS` of
//! linux/ethtool.h, in the network namespace of the calling thread. No privilege is needed.

use super::driver_info::text;
use super::ethtool::{Request, ethtool, interface_request};
use super::guarded::GuardedMemory;
use crate::{Result, SysError};

const GET_STRINGS: u32 = 0x1b;
const GET_COUNTERS: u32 = 0x1d;
const GET_SET_INFO: u32 = 0x37;
/// `ETH_SS_STATS`: the set of strings that names the counters.
const COUNTER_NAMES: u32 = 1;
/// `ETH_GSTRING_LEN`: octets of a name.
const NAME: usize = 32;
/// Octets in front of the names in `struct ethtool_gstrings`.
const STRINGS_HEAD: usize = 12;
/// Octets in front of the values in `struct ethtool_stats`.
const COUNTERS_HEAD: usize = 8;
/// More than any driver has: those with the most count some 50 things on each of some hundred queues.
const MOST: usize = 1 << 16;
/// How often names and values are asked for while their number changes under the hands.
const ATTEMPTS: u32 = 4;

/// One counter of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverCounter {
    /// Its name as the driver writes it, leading blanks included. Not unique: vmxnet3 repeats its names for each queue.
    pub name: String,
    /// Its value; most count up from the driver's start, some are gauges.
    pub value: u64,
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

/// The driver's counters, in its order; `None` where it has none.
///
/// With many drivers the reading itself brings the counters up to date, those of `struct rtnl_link_stats64` included:
/// whoever wants both reads these first.
///
/// # Errors
/// `ENODEV` where there is no such interface; an argument error where the driver claims more counters than any has, or
/// where their number does not stand still.
pub fn read(interface: &str) -> Result<Option<Vec<DriverCounter>>> {
    for _ in 0..ATTEMPTS {
        let Some(count) = number(interface)? else { return Ok(None) };
        let names = strings(interface, count)?;
        let values = values(interface, count)?;
        // Queues that come or go change the number between two calls; newer kernels then answer nothing.
        if names.len() == count && values.len() == count {
            let counters = names.into_iter().zip(values).map(|(name, value)| DriverCounter { name, value });
            return Ok(Some(counters.collect()));
        }
    }
    Err(SysError::argument(
        format!("ioctl(ETHTOOL_GSTATS, {interface})"),
        "the number of counters kept changing; try again when nobody sets up queues",
    ))
}

/// How many counters the driver has; `None` where it has none.
fn number(interface: &str) -> Result<Option<usize>> {
    let mut info = SetInfo { command: GET_SET_INFO, reserved: 0, sets: 1 << COUNTER_NAMES, length: 0 };
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
            format!("the driver claims {count} counters, more than {MOST}"),
        ));
    }
    Ok(Some(count))
}

fn strings(interface: &str, count: usize) -> Result<Vec<String>> {
    let head = [GET_STRINGS, COUNTER_NAMES, count as u32].map(u32::to_ne_bytes).concat();
    let mut memory = ask(interface, &head, STRINGS_HEAD + count * NAME, "ETHTOOL_GSTRINGS")?;
    let (head, body) = memory.bytes().split_at(STRINGS_HEAD);
    let answered = u32_at(head, 8).min(count);
    Ok(body.chunks_exact(NAME).take(answered).map(text).collect())
}

fn values(interface: &str, count: usize) -> Result<Vec<u64>> {
    let head = [GET_COUNTERS, count as u32].map(u32::to_ne_bytes).concat();
    let mut memory = ask(interface, &head, COUNTERS_HEAD + count * size_of::<u64>(), "ETHTOOL_GSTATS")?;
    let (head, body) = memory.bytes().split_at(COUNTERS_HEAD);
    let answered = u32_at(head, 4).min(count);
    Ok(body.as_chunks::<8>().0.iter().take(answered).map(|octets| u64::from_ne_bytes(*octets)).collect())
}

/// Makes a call whose answer, `length` octets long, the kernel writes over the question. Kernels before 6.12 write as much
/// as there is at that moment, whatever was asked for.
fn ask(interface: &str, question: &[u8], length: usize, name: &str) -> Result<GuardedMemory> {
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

fn u32_at(octets: &[u8], at: usize) -> usize {
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

    #[test]
    fn a_driver_without_counters_has_none() {
        assert_eq!(read("lo").unwrap(), None);
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = read("no-such-if").unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV));
        assert!(error.to_string().contains("no-such-if"));
        assert!(read("a-name-that-is-too-long").is_err() && read("a\0b").is_err() && read("").is_err());
    }
}
