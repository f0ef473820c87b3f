//! A driver's own switches, which `ethtool --show-priv-flags` prints: `ETHTOOL_GPFLAGS` of linux/ethtool.h, in the network
//! namespace of the calling thread. No privilege is needed.

use super::ethtool::{Request, ethtool};
use super::ethtool_strings::{self, StringSet};
use crate::Result;

/// `ETHTOOL_GPFLAGS`.
const GET_FLAGS: u32 = 0x27;

/// `struct ethtool_value`.
#[repr(C)]
struct Value {
    command: u32,
    data: u32,
}

// SAFETY: ETHTOOL_GPFLAGS reads the command and writes one ethtool_value.
unsafe impl Request for Value {}

/// A switch, by the name that the driver gives it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrivateFlag {
    /// Its name.
    pub name: String,
    /// Whether it is on.
    pub on: bool,
}

/// All switches of an interface's driver, of which there can be 32; `None` where it has none.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn read(interface: &str) -> Result<Option<Vec<PrivateFlag>>> {
    let Some(count) = ethtool_strings::number(interface, StringSet::PrivateFlags)? else { return Ok(None) };
    let names = ethtool_strings::names(interface, StringSet::PrivateFlags, count)?;
    let mut value = Value { command: GET_FLAGS, data: 0 };
    match ethtool(interface, &mut value, "ETHTOOL_GPFLAGS") {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        answered => answered?,
    }
    Ok(Some(named(names, value.data)))
}

fn named(names: Vec<String>, word: u32) -> Vec<PrivateFlag> {
    let bits = (0..u32::BITS).map(|bit| word >> bit & 1 == 1);
    names.into_iter().zip(bits).map(|(name, on)| PrivateFlag { name, on }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        assert_eq!(size_of::<Value>(), 8);
    }

    #[test]
    fn bits_are_named_in_order() {
        let flags = named(vec!["legacy-rx".into(), "vf-true-promisc".into()], 0b10);
        let told: Vec<_> = flags.iter().map(|flag| (flag.name.as_str(), flag.on)).collect();
        assert_eq!(told, [("legacy-rx", false), ("vf-true-promisc", true)]);
        assert_eq!(named(vec![String::new(); 40], u32::MAX).len(), 32, "no more than the word has");
    }

    #[test]
    fn an_interface_without_switches_has_none() {
        assert_eq!(read("lo").unwrap(), None);
        assert_eq!(read("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
