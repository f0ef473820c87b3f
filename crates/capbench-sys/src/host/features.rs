//! Offloads that have no command of their own, by the names that `ethtool -k` prints: `ETHTOOL_GFEATURES` of
//! linux/ethtool.h, in the network namespace of the calling thread. No privilege is needed.

use super::ethtool_strings::{self, StringSet, ask, u32_at};
use crate::Result;

/// `ETHTOOL_GFEATURES`.
const GET_FEATURES: u32 = 0x3a;
/// Octets in front of the blocks in `struct ethtool_gfeatures`.
const HEAD: usize = 8;
/// Octets of `struct ethtool_get_features_block`: available, requested, active, never_changed.
const BLOCK: usize = 16;
/// Where `active` stands in it.
const ACTIVE: usize = 8;
/// Features in a block.
const BLOCK_BITS: usize = 32;

/// Whether a feature is active, `rx-gro-hw` for example; `None` where this kernel knows none of that name.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn is_active(interface: &str, name: &str) -> Result<Option<bool>> {
    let Some(features) = Features::read(interface)? else { return Ok(None) };
    let Some(bit) = features.names.iter().position(|known| known == name) else { return Ok(None) };
    Ok(Some(features.has(bit)))
}

/// The names of all features that are active; `None` where this kernel names none.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn active(interface: &str) -> Result<Option<Vec<String>>> {
    let Some(features) = Features::read(interface)? else { return Ok(None) };
    let active = (0..).zip(&features.names).filter(|(bit, name)| features.has(*bit) && !name.is_empty());
    Ok(Some(active.map(|(_, name)| name.clone()).collect()))
}

/// The features that this kernel knows, and those words of the answer that say which of them are active.
struct Features {
    names: Vec<String>,
    active: Vec<usize>,
}

impl Features {
    fn read(interface: &str) -> Result<Option<Self>> {
        let Some(count) = ethtool_strings::number(interface, StringSet::Features)? else { return Ok(None) };
        let names = ethtool_strings::names(interface, StringSet::Features, count)?;
        let blocks = count.div_ceil(BLOCK_BITS);
        let question = [GET_FEATURES, blocks as u32].map(u32::to_ne_bytes).concat();
        let mut memory = ask(interface, &question, HEAD + blocks * BLOCK, "ETHTOOL_GFEATURES")?;
        let answer = memory.bytes();
        let active = (0..blocks).map(|block| u32_at(answer, HEAD + block * BLOCK + ACTIVE)).collect();
        Ok(Some(Self { names, active }))
    }

    fn has(&self, bit: usize) -> bool {
        self.active.get(bit / BLOCK_BITS).is_some_and(|word| word >> (bit % BLOCK_BITS) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_by_their_names() {
        assert_eq!(is_active("lo", "loopback").unwrap(), Some(true));
        assert_eq!(is_active("lo", "rx-gro-hw").unwrap(), Some(false));
        assert_eq!(is_active("lo", "no-such-feature").unwrap(), None);
        let all = active("lo").unwrap().unwrap();
        assert!(all.iter().any(|name| name == "loopback") && !all.iter().any(|name| name == "rx-gro-hw"));
        assert_eq!(active("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
        assert_eq!(is_active("no-such-if", "rx-gro-hw").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
