//! Pause frames that an interface counted (`ethtool -I -a`): generic netlink (linux/genetlink.h), family `ethtool`
//! (linux/ethtool_netlink.h).

use rustix::net::netlink::GENERIC;

use crate::Result;
use crate::error::by_code;
use crate::netlink::{Answers, HEADER, attribute, u16_at, u32_at};

/// Octets of `struct genlmsghdr`: command, version and 16 bits that are 0.
const GENERIC_HEADER: usize = 4;

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
/// `NLA_F_NESTED`.
const NESTED: u16 = 1 << 15;

/// Pause frames of an interface since its driver was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct PauseCounts {
    /// Those that it sent, because it had no room: the other end waited.
    pub sent: u64,
    /// Those that it received: it waited itself.
    pub received: u64,
}

/// The interface's count of pause frames (IEEE 802.3 annex 31B); `None` if its driver or the kernel (before 5.10) has none.
pub fn pause_counts(interface: &str) -> Result<Option<PauseCounts>> {
    let Some(family) = family()? else { return Ok(None) };
    let flags = octets(HEADER_FLAGS, &WITH_STATISTICS.to_ne_bytes());
    let header = [octets(HEADER_DEVICE_NAME, &with_zero(interface)), flags].concat();
    let request = [&[PAUSE_GET, 1, 0, 0], &octets(PAUSE_HEADER | NESTED, &header)[..]].concat();
    Ok(ask(family, &request)?.as_deref().and_then(counts))
}

/// The number of the family `ethtool`; `None` if this kernel has none.
fn family() -> Result<Option<u16>> {
    let request = [&[GET_FAMILY, 1, 0, 0], &octets(FAMILY_NAME, &with_zero("ethtool"))[..]].concat();
    let answer = ask(CONTROL, &request)?;
    Ok(answer.as_deref().and_then(|attributes| u16_at(attribute(attributes, FAMILY_ID)?, 0)))
}

/// The attributes of the answer to a request of a family; `None` if the kernel or the driver does not support it.
fn ask(family: u16, request: &[u8]) -> Result<Option<Vec<u8>>> {
    let what = || "netlink(pause frames)".to_string();
    let answers = Answers::of(Some(GENERIC), (family, libc::NLM_F_REQUEST), request, what)?;
    let mut buffer = vec![0; 1 << 15];
    let answer = answers.next(&mut buffer, what)?;
    if u16_at(answer, 4) == Some(libc::NLMSG_ERROR as u16) {
        let code = u32_at(answer, HEADER).map_or(0, |code| -code.cast_signed());
        return match code {
            libc::EOPNOTSUPP | libc::ENOENT => Ok(None),
            code => Err(by_code(what(), code)),
        };
    }
    Ok(answer.get(HEADER + GENERIC_HEADER..).map(<[u8]>::to_vec))
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

/// An attribute (`struct nlattr`), padded to four octets.
fn octets(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = (4 + content.len()) as u16;
    let mut attribute = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), content].concat();
    attribute.resize(attribute.len().next_multiple_of(4), 0);
    attribute
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
            let counts =
                [octets(SENT_FRAMES, &sent.to_ne_bytes()), octets(RECEIVED_FRAMES, &7u64.to_ne_bytes())];
            [octets(4, &[1]), octets(PAUSE_STATISTICS | NESTED, &counts.concat())].concat()
        };
        assert_eq!(counts(&statistics(5)), Some(PauseCounts { sent: 5, received: 7 }));
        assert_eq!(counts(&statistics(u64::MAX)), None, "ETHTOOL_STAT_NOT_SET");
        assert_eq!(counts(&octets(4, &[1])), None);
        assert_eq!(counts(&[]), None);
    }

    /// The loopback interface has no pause frames; the kernel is asked all the same.
    #[test]
    fn an_interface_without_pause_frames_has_no_counts_and_an_absent_one_is_an_error() {
        assert_eq!(pause_counts("lo").unwrap(), None);
        let known = family().unwrap();
        assert!(known.is_none() || pause_counts("no-such-one").is_err());
    }
}
