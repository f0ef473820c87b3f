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
    let Some(count) = ethtool_strings::number(interface, StringSet::Features)? else { return Ok(None) };
    let names = ethtool_strings::names(interface, StringSet::Features, count)?;
    let Some(bit) = names.iter().position(|known| known == name) else { return Ok(None) };
    let blocks = count.div_ceil(BLOCK_BITS);
    let question = [GET_FEATURES, blocks as u32].map(u32::to_ne_bytes).concat();
    let mut memory = ask(interface, &question, HEAD + blocks * BLOCK, "ETHTOOL_GFEATURES")?;
    let word = u32_at(memory.bytes(), HEAD + bit / BLOCK_BITS * BLOCK + ACTIVE);
    Ok(Some(word >> (bit % BLOCK_BITS) & 1 == 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn features_are_found_by_their_names() {
        assert_eq!(is_active("lo", "loopback").unwrap(), Some(true));
        assert_eq!(is_active("lo", "rx-gro-hw").unwrap(), Some(false));
        assert_eq!(is_active("lo", "no-such-feature").unwrap(), None);
        assert_eq!(is_active("no-such-if", "rx-gro-hw").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
