//! Pause frames that an interface counted (`ethtool -I -a`): generic netlink (linux/genetlink.h), family `ethtool`
//! (linux/ethtool_netlink.h).

use std::io;

use netlink_packet_core::{NLA_F_NESTED, NLM_F_ACK};
use netlink_sys::protocols::NETLINK_GENERIC;
use serde::{Deserialize, Serialize};

use super::exchange::{Exchange, u16_at};
use super::message::{attribute, nla};
use super::{NOT_SUPPORTED, netlink_error};
use crate::Result;

/// `struct genlmsghdr`: the command, version 1 and 16 bits that are 0.
const fn generic(command: u8) -> [u8; 4] {
    [command, 1, 0, 0]
}

/// `GENL_ID_CTRL`: the family that knows the others; its `CTRL_CMD_GETFAMILY` and attributes.
const CONTROL: u16 = 0x10;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;

/// `ETHTOOL_MSG_PAUSE_GET`, and the attributes of its request and its answer.
const PAUSE_GET: u8 = 21;
const PAUSE_HEADER: u16 = 1;
const HEADER_DEVICE_NAME: u16 = 2;
const HEADER_FLAGS: u16 = 3;
/// `ETHTOOL_FLAG_STATS`.
const WITH_STATISTICS: u32 = 1 << 2;
const PAUSE_STATISTICS: u16 = 5;
const SENT_FRAMES: u16 = 2;
const RECEIVED_FRAMES: u16 = 3;

const NO_ENTRY: i32 = 2;

/// Pause frames of an interface since its driver was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PauseCounts {
    /// Those that it sent, because it had no room: the other end waited.
    pub sent: u64,
    /// Those that it received: it waited itself.
    pub received: u64,
}

/// The count of pause frames (IEEE 802.3 annex 31B) of an interface of the calling thread's network namespace; `None` if its driver
/// or the kernel (before 5.10) has none.
///
/// # Errors
/// There is no such interface, or no socket of this kind.
pub fn pause_counts(interface: &str) -> Result<Option<PauseCounts>> {
    let counted = Exchange::open_for(NETLINK_GENERIC).and_then(|mut exchange| {
        let Some(family) = family(&mut exchange)? else { return Ok(None) };
        let flags = nla(HEADER_FLAGS, &WITH_STATISTICS.to_ne_bytes());
        let header = [nla(HEADER_DEVICE_NAME, &with_zero(interface)), flags].concat();
        let request = [&generic(PAUSE_GET), &nla(PAUSE_HEADER | NLA_F_NESTED, &header)[..]].concat();
        Ok(ask(&mut exchange, family, &request)?.as_deref().and_then(counts))
    });
    counted.map_err(|source| netlink_error(interface, "read its count of pause frames", source))
}

/// The number of the family `ethtool`; `None` if this kernel has none.
fn family(exchange: &mut Exchange) -> io::Result<Option<u16>> {
    let request = [&generic(GET_FAMILY), &nla(FAMILY_NAME, &with_zero("ethtool"))[..]].concat();
    let answer = ask(exchange, CONTROL, &request)?;
    Ok(answer.as_deref().and_then(|attributes| u16_at(attribute(attributes, FAMILY_ID)?, 0)))
}

/// The attributes of the answer to a request of a family; `None` if the kernel or the driver does not support it.
fn ask(exchange: &mut Exchange, family: u16, request: &[u8]) -> io::Result<Option<Vec<u8>>> {
    match exchange.request_by(family, NLM_F_ACK, request) {
        Err(error) if matches!(error.raw_os_error(), Some(NOT_SUPPORTED | NO_ENTRY)) => Ok(None),
        answers => {
            Ok(answers?.first().and_then(|answer| Some(answer.body.get(generic(0).len()..)?.to_vec())))
        }
    }
}

/// The counts among the attributes of an answer. A driver without them leaves them out, or sets all bits.
fn counts(attributes: &[u8]) -> Option<PauseCounts> {
    let statistics = attribute(attributes, PAUSE_STATISTICS)?;
    let count = |kind| {
        let count = u64::from_ne_bytes(*attribute(statistics, kind)?.first_chunk()?);
        (count != u64::MAX).then_some(count)
    };
    Some(PauseCounts { sent: count(SENT_FRAMES)?, received: count(RECEIVED_FRAMES)? })
}

fn with_zero(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_where_the_driver_has_them() {
        let statistics = |sent: u64| {
            let counts = [nla(SENT_FRAMES, &sent.to_ne_bytes()), nla(RECEIVED_FRAMES, &7u64.to_ne_bytes())];
            [nla(4, &[1]), nla(PAUSE_STATISTICS | NLA_F_NESTED, &counts.concat())].concat()
        };
        assert_eq!(counts(&statistics(5)), Some(PauseCounts { sent: 5, received: 7 }));
        assert_eq!(counts(&statistics(u64::MAX)), None, "ETHTOOL_STAT_NOT_SET");
        assert_eq!(counts(&nla(4, &[1])), None);
        assert_eq!(counts(&[]), None);
    }

    /// The loopback interface has no pause frames; the kernel is asked all the same.
    #[test]
    fn an_interface_without_pause_frames_has_no_counts_and_an_absent_one_is_an_error() {
        assert_eq!(pause_counts("lo").unwrap(), None);
        let known =
            Exchange::open_for(NETLINK_GENERIC).and_then(|mut exchange| family(&mut exchange)).unwrap();
        assert!(known.is_none() || pause_counts("no-such-one").is_err());
    }
}
