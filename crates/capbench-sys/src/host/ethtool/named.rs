//! Named items of drivers and the kernel: counters (`ethtool -S`), switches (`ethtool --show-priv-flags`) and features
//! (`ethtool -k`).

use std::collections::BTreeMap;

use super::{GFEATURES, GPFLAGS, GSSET_INFO, GSTATS, GSTRINGS, ask_for_list, call, supported, text, word};
use crate::{Result, SysError};

/// `ETH_GSTRING_LEN`: octets of a name.
const NAME: usize = 32;
const NAMES_HEAD: usize = 12;
const COUNTERS_HEAD: usize = 8;
/// Octets in front of the blocks in `struct ethtool_gfeatures`.
const FEATURES_HEAD: usize = 8;
/// Octets of `struct ethtool_get_features_block`: available, requested, active, never_changed.
const BLOCK: usize = 16;
const AVAILABLE: usize = 0;
const ACTIVE: usize = 8;
/// More than any driver has: those with the most count some 50 things on each of some hundred queues.
const MOST: usize = 1 << 16;
/// How often names and values are read while their number changes.
const ATTEMPTS: u32 = 4;

/// A set of names, by its number in `enum ethtool_stringset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StringSet {
    /// `ETH_SS_STATS`: the driver's counters.
    Counters = 1,
    /// `ETH_SS_PRIV_FLAGS`: the driver's own switches.
    Switches = 2,
    /// `ETH_SS_FEATURES`: the offloads that the kernel knows.
    Features = 4,
}

impl StringSet {
    /// How many names there are; `None` where there are none.
    fn number(self, interface: &str) -> Result<Option<usize>> {
        // struct ethtool_sset_info with room for one set: its mask has 64 bits.
        let mask = (1_u64 << self as u32).to_ne_bytes();
        let question = [0, word(&mask, 0), word(&mask, 4)];
        let Some([_, _, low, high, count]) = supported(call(interface, GSSET_INFO, &question))? else {
            return Ok(None);
        };
        let count = count as usize;
        if low | high == 0 || count == 0 {
            return Ok(None);
        }
        if count > MOST {
            let reason = format!("the driver claims {count} names, more than {MOST}");
            return Err(SysError::argument(format!("ioctl({}, {interface})", GSSET_INFO.name), reason));
        }
        Ok(Some(count))
    }

    /// The names, in the kernel's order; fewer than `count` where their number has changed.
    fn names(self, interface: &str, count: usize) -> Result<Vec<String>> {
        let length = NAMES_HEAD + count * NAME;
        let answer = ask_for_list(interface, GSTRINGS, &[self as u32, count as u32], length)?;
        let answered = word(&answer, 8) as usize;
        Ok(answer[NAMES_HEAD..].chunks_exact(NAME).take(answered).map(text).collect())
    }
}

/// One counter of a driver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverCounter {
    /// Its name in the driver, including leading blanks. Not unique: vmxnet3 repeats its names for each queue.
    pub name: String,
    /// Its value; most count up from the driver's start, some are gauges.
    pub value: u64,
}

/// The driver's counters, in its order; `None` if it has none.
///
/// With many drivers this read also updates the counters, including those of `struct rtnl_link_stats64`: read these first if
/// you need both.
///
/// # Errors
/// `ENODEV` if the interface does not exist; an argument error if the driver reports an implausible number of counters, or if
/// their number keeps changing.
pub fn counters(interface: &str) -> Result<Option<Vec<DriverCounter>>> {
    for _ in 0..ATTEMPTS {
        let Some(count) = StringSet::Counters.number(interface)? else { return Ok(None) };
        let names = StringSet::Counters.names(interface, count)?;
        let length = COUNTERS_HEAD + count * size_of::<u64>();
        let answer = ask_for_list(interface, GSTATS, &[count as u32], length)?;
        // Queues that come or go change the number between two calls; newer kernels then answer nothing.
        if names.len() == count && word(&answer, 4) as usize >= count {
            let values =
                answer[COUNTERS_HEAD..].as_chunks().0.iter().map(|octets| u64::from_ne_bytes(*octets));
            let counters = names.into_iter().zip(values).map(|(name, value)| DriverCounter { name, value });
            return Ok(Some(counters.collect()));
        }
    }
    Err(SysError::argument(
        format!("ioctl({}, {interface})", GSTATS.name),
        "the number of counters kept changing; try again when nobody sets up queues",
    ))
}

/// The driver's own switches, up to 32, and whether they are on; `None` if it has none.
pub fn switches(interface: &str) -> Result<Option<BTreeMap<String, bool>>> {
    let Some(count) = StringSet::Switches.number(interface)? else { return Ok(None) };
    let names = StringSet::Switches.names(interface, count)?;
    Ok(supported(call(interface, GPFLAGS, &[]))?.map(|[_, switches]| named(names, &[switches])))
}

/// The offloads that this kernel knows, for example `rx-gro-hw`, and whether they are active; `None` if it names none.
pub fn features(interface: &str) -> Result<Option<BTreeMap<String, bool>>> {
    feature_words(interface, ACTIVE)
}

/// The same offloads, and whether the user can turn them on and off.
pub fn changeable_features(interface: &str) -> Result<Option<BTreeMap<String, bool>>> {
    feature_words(interface, AVAILABLE)
}

fn feature_words(interface: &str, at: usize) -> Result<Option<BTreeMap<String, bool>>> {
    let Some(count) = StringSet::Features.number(interface)? else { return Ok(None) };
    let names = StringSet::Features.names(interface, count)?;
    let blocks = count.div_ceil(u32::BITS as usize);
    let answer = ask_for_list(interface, GFEATURES, &[blocks as u32], FEATURES_HEAD + blocks * BLOCK)?;
    let words = answer[FEATURES_HEAD..].chunks_exact(BLOCK).map(|block| word(block, at));
    Ok(Some(named(names, &words.collect::<Vec<_>>())))
}

/// The bits of words by their names. The kernel leaves bits without a name between others.
fn named(names: Vec<String>, words: &[u32]) -> BTreeMap<String, bool> {
    let bits = words.iter().flat_map(|word| (0..u32::BITS).map(move |bit| word >> bit & 1 == 1));
    names.into_iter().zip(bits).filter(|(name, _)| !name.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_named_in_order() {
        let names = |count: usize| (0..count).map(|bit| format!("bit {bit:03}")).collect::<Vec<_>>();
        let set = |words: &[u32]| {
            let named = named(names(64), words);
            named.into_iter().filter(|(_, on)| *on).map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(set(&[0b10, 0b1]), ["bit 001", "bit 032"]);
        assert_eq!(named(names(40), &[u32::MAX]).len(), 32, "no more than the word has");
        assert_eq!(named(vec![String::new(), "one".into()], &[0b11]), BTreeMap::from([("one".into(), true)]));
    }

    #[test]
    fn features_are_found_by_their_names() {
        let features = features("lo").unwrap().unwrap();
        assert_eq!(features.get("loopback"), Some(&true));
        assert_eq!(features.get("rx-gro-hw"), Some(&false));
        assert_eq!(features.get("no-such-feature"), None);
        let changeable = changeable_features("lo").unwrap().unwrap();
        assert_eq!((changeable.get("loopback"), changeable.get("rx-gro")), (Some(&false), Some(&true)));
    }
}
