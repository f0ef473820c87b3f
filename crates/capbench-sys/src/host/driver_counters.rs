//! A driver's own counters, what `ethtool -S` prints: `ETHTOOL_GSSET_INFO`, `ETHTOOL_GSTRINGS` and `ETHTOOL_GSTATS` of
//! linux/ethtool.h, in the network namespace of the calling thread. No privilege is needed.

use super::ethtool_strings::{self, StringSet, ask, u32_at};
use crate::{Result, SysError};

const GET_COUNTERS: u32 = 0x1d;
/// Octets in front of the values in `struct ethtool_stats`.
const COUNTERS_HEAD: usize = 8;
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
        let Some(count) = ethtool_strings::number(interface, StringSet::Counters)? else { return Ok(None) };
        let names = ethtool_strings::names(interface, StringSet::Counters, count)?;
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

fn values(interface: &str, count: usize) -> Result<Vec<u64>> {
    let head = [GET_COUNTERS, count as u32].map(u32::to_ne_bytes).concat();
    let mut memory = ask(interface, &head, COUNTERS_HEAD + count * size_of::<u64>(), "ETHTOOL_GSTATS")?;
    let (head, body) = memory.bytes().split_at(COUNTERS_HEAD);
    let answered = u32_at(head, 4).min(count);
    Ok(body.as_chunks::<8>().0.iter().take(answered).map(|octets| u64::from_ne_bytes(*octets)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

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
