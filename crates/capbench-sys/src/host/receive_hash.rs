//! How an interface shares received frames out to its queues (RSS): `ETHTOOL_GRSSH` and `ETHTOOL_GRXFH` of
//! linux/ethtool.h, in the network namespace of the calling thread. No privilege is needed.

use super::ethtool::{Request, ethtool};
use super::ethtool_strings::{ask, u32_at};
use crate::{Result, SysError};

/// `ETHTOOL_GRSSH`.
const GET_HASH: u32 = 0x46;
/// `ETHTOOL_GRXFH`.
const GET_FIELDS: u32 = 0x29;
/// `UDP_V4_FLOW`.
const UDP_OVER_IPV4: u32 = 0x02;
/// Octets in front of the table in `struct ethtool_rxfh`.
const HEAD: usize = 24;
/// Where `indir_size`, `key_size` and `hfunc` stand in it.
const TABLE_LENGTH: usize = 8;
const KEY_LENGTH: usize = 12;
const FUNCTION: usize = 16;
/// More than any card has; a larger table is no answer.
const MOST: usize = 1 << 16;

/// What a card computes its hash by (`ETH_RSS_HASH_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HashFunction {
    /// Toeplitz with a key.
    Toeplitz,
    /// All octets exclusively ored.
    Xor,
    /// CRC-32.
    Crc32,
    /// One that linux/ethtool.h did not know when this was written, or none.
    Other,
}

impl HashFunction {
    fn of(bits: u8) -> Self {
        match bits {
            0b001 => Self::Toeplitz,
            0b010 => Self::Xor,
            0b100 => Self::Crc32,
            _ => Self::Other,
        }
    }
}

/// How received frames find their queues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiveHash {
    /// What the hash is computed by.
    pub function: HashFunction,
    /// The queue of each remainder of the hash, in order. Empty where the driver has no such table.
    pub table: Vec<u32>,
    /// Whether the key gives both directions of a connection the same hash: two octets that repeat. `None` without a key.
    pub symmetric_key: Option<bool>,
}

/// The table and the function; `None` where the driver has none.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn read(interface: &str) -> Result<Option<ReceiveHash>> {
    const NAME: &str = "ETHTOOL_GRSSH";
    let question =
        |table: usize, key: usize| [GET_HASH, 0, table as u32, key as u32].map(u32::to_ne_bytes).concat();
    let (table, key) = match ask(interface, &question(0, 0), HEAD, NAME) {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        Err(error) => return Err(error),
        Ok(mut sizes) => (u32_at(sizes.bytes(), TABLE_LENGTH), u32_at(sizes.bytes(), KEY_LENGTH)),
    };
    if table > MOST || key > MOST {
        return Err(SysError::argument(
            format!("ioctl({NAME}, {interface})"),
            format!("the driver claims a table of {table} entries and a key of {key} octets"),
        ));
    }
    let mut memory = ask(interface, &question(table, key), HEAD + 4 * table + key, NAME)?;
    let answer = memory.bytes();
    let (entries, key) = answer[HEAD..].split_at(4 * table);
    Ok(Some(ReceiveHash {
        function: HashFunction::of(answer[FUNCTION]),
        table: (0..table).map(|entry| u32_at(entries, 4 * entry) as u32).collect(),
        symmetric_key: (!key.is_empty()).then(|| repeats_two(key)),
    }))
}

/// Whether a key consists of the same two octets again and again, as one whose hash is symmetric does.
fn repeats_two(key: &[u8]) -> bool {
    key.iter().zip(key.iter().skip(2)).all(|(octet, later)| octet == later)
}

/// `struct ethtool_rxnfc`, of which this command uses the first members.
#[repr(C)]
struct Fields {
    command: u32,
    flow_type: u32,
    data: u64,
    rest: [u64; 22],
}

// SAFETY: ETHTOOL_GRXFH reads and writes the members up to `data` of one ethtool_rxnfc.
unsafe impl Request for Fields {}

/// What of a packet goes into its hash (`RXH_*`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HashedFields {
    /// Both IP addresses.
    pub addresses: bool,
    /// Both ports.
    pub ports: bool,
}

impl HashedFields {
    fn of(bits: u64) -> Self {
        // RXH_IP_SRC and RXH_IP_DST; RXH_L4_B_0_1 and RXH_L4_B_2_3.
        let has = |both: u64| bits & both == both;
        Self { addresses: has(1 << 4 | 1 << 5), ports: has(1 << 6 | 1 << 7) }
    }
}

/// What of a UDP packet over IPv4 goes into its hash; `None` where the driver does not say.
///
/// # Errors
/// `ENODEV` where there is no such interface.
pub fn udp4_fields(interface: &str) -> Result<Option<HashedFields>> {
    let mut fields = Fields { command: GET_FIELDS, flow_type: UDP_OVER_IPV4, data: 0, rest: [0; 22] };
    match ethtool(interface, &mut fields, "ETHTOOL_GRXFH") {
        Err(error) if error.errno() == Some(libc::EOPNOTSUPP) => return Ok(None),
        answered => answered?,
    }
    Ok(Some(HashedFields::of(fields.data)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_requests_have_the_kernels_layout() {
        assert_eq!(size_of::<Fields>(), 192);
        assert_eq!(std::mem::offset_of!(Fields, data), 8);
    }

    #[test]
    fn keys_that_repeat_two_octets_are_symmetric() {
        assert!(repeats_two(&[0x6d, 0x5a].repeat(20)));
        assert!(!repeats_two(&[0x6d, 0x5a, 0x56, 0xda]));
    }

    #[test]
    fn bits_are_told_apart() {
        assert_eq!(HashedFields::of(0x30), HashedFields { addresses: true, ports: false });
        assert_eq!(HashedFields::of(0xf0), HashedFields { addresses: true, ports: true });
        assert_eq!(HashedFields::of(1 << 31), HashedFields { addresses: false, ports: false });
        assert_eq!(HashFunction::of(1), HashFunction::Toeplitz);
        assert_eq!(HashFunction::of(0), HashFunction::Other);
    }

    #[test]
    fn an_interface_without_queues_of_its_own_has_none() {
        assert_eq!(read("lo").unwrap(), None);
        assert_eq!(udp4_fields("lo").unwrap(), None);
        assert_eq!(read("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
        assert_eq!(udp4_fields("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
