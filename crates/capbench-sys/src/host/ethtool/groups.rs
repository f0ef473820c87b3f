//! Settings of an interface that are saved and set again as groups, exactly as the driver had them.

use super::{
    Change, Coalescing, GCHANNELS, GRINGPARAM, Offload, SCHANNELS, SRINGPARAM, SRSSH, call, offload,
    offload_change, settings, supported,
};
use crate::{Result, SysError};

/// Settings that a driver reports together, as the numbers of the kernel's structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Numbers of queues (`ethtool -l`): receive, transmit, other, combined.
    Channels,
    /// Descriptors of the rings (`ethtool -g`): receive, mini, jumbo, transmit.
    Rings,
    /// Interrupt moderation (`ethtool -c`): the 22 numbers of `struct ethtool_coalesce`.
    Moderation,
    /// Distribution of frames to queues (`ethtool -x`): hash function, entries of the table, octets of the key, the table, the
    /// key.
    Sharing,
    /// An offload (`ethtool -k`): 1 or 0.
    Offload(Offload),
}

impl Group {
    /// The current numbers; `None` if the driver does not have such settings.
    ///
    /// # Errors
    /// `ENODEV` if the interface does not exist; an argument error if the driver reports an implausibly large table.
    pub fn read(self, interface: &str) -> Result<Option<Vec<u32>>> {
        match self {
            // Both structures: the command, four maxima, four numbers.
            Self::Channels => {
                Ok(supported(call::<9>(interface, GCHANNELS, &[]))?.map(|all| all[5..].to_vec()))
            }
            Self::Rings => Ok(supported(call::<9>(interface, GRINGPARAM, &[]))?.map(|all| all[5..].to_vec())),
            Self::Moderation => Ok(Coalescing::read(interface)?.map(|all| all.words().to_vec())),
            Self::Sharing => sharing(interface),
            Self::Offload(which) => Ok(supported(offload(interface, which))?.map(|on| vec![on.into()])),
        }
    }

    /// The change to these numbers, to be made later.
    ///
    /// # Errors
    /// They are not as many as the group has; or those of [`Group::read`].
    pub fn change(self, interface: &str, numbers: &[u32]) -> Result<Change> {
        let wrong = || {
            SysError::argument(
                format!("{self:?} of {interface}"),
                format!("{numbers:?} are no such settings"),
            )
        };
        match (self, numbers) {
            // The kernel does not look at the maxima.
            (Self::Channels, [_, _, _, _]) => Change::new(interface, SCHANNELS, &[&[0; 4], numbers].concat()),
            (Self::Rings, [_, _, _, _]) => Change::new(interface, SRINGPARAM, &[&[0; 4], numbers].concat()),
            (Self::Moderation, _) => {
                Coalescing::of_words(numbers.try_into().map_err(|_| wrong())?).change(interface)
            }
            (Self::Sharing, [function, entries, octets, rest @ ..])
                if rest.len() == *entries as usize + octets.div_ceil(4) as usize =>
            {
                // The command, a number of a context, both lengths, the function, and a word that is reserved.
                let head = [0, *entries, *octets, *function, 0];
                Change::new(interface, SRSSH, &[&head, rest].concat())
            }
            (Self::Offload(which), [on]) => offload_change(interface, which, *on != 0),
            _ => Err(wrong()),
        }
    }

    /// The change that lets the driver choose the table from hash to queue. Unlike a table that is set, it does not forbid to lower
    /// the number of queues later.
    ///
    /// # Errors
    /// No interface can have this name.
    pub fn default_table(interface: &str) -> Result<Change> {
        Change::new(interface, SRSSH, &[0, 0, 0, 0, 0])
    }
}

fn sharing(interface: &str) -> Result<Option<Vec<u32>>> {
    let Some(table) = settings::table_and_key(interface)? else { return Ok(None) };
    let words = &table.answer[settings::RXFH_HEAD..];
    let numbers = words.as_chunks::<4>().0.iter().map(|octets| u32::from_ne_bytes(*octets));
    // The function is an octet. The three behind it are others.
    let function = u32::from_ne_bytes([table.answer[settings::RXFH_FUNCTION], 0, 0, 0]);
    Ok(Some([function, table.entries, table.octets].into_iter().chain(numbers).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_with_too_few_numbers_is_refused_before_a_call() {
        for (group, numbers) in [
            (Group::Channels, &[1, 2, 3][..]),
            (Group::Rings, &[]),
            (Group::Moderation, &[0; 21]),
            (Group::Sharing, &[1, 4, 0, 0, 1, 2]),
            (Group::Sharing, &[1, 2]),
            (Group::Offload(Offload::Gro), &[1, 1]),
        ] {
            let error = group.change("lo", numbers).unwrap_err().to_string();
            assert!(error.contains("are no such settings"), "{error}");
        }
        Group::Sharing.change("lo", &[1, 2, 5, 0, 1, 7, 8]).unwrap();
    }

    #[test]
    fn the_loopback_interface_has_offloads_only() {
        for group in [Group::Channels, Group::Rings, Group::Moderation, Group::Sharing] {
            assert_eq!(group.read("lo").unwrap(), None, "{group:?}");
        }
        assert_eq!(Group::Offload(Offload::Lro).read("lo").unwrap(), Some(vec![0]));
        assert_eq!(Group::Rings.read("no-such-if").unwrap_err().errno(), Some(libc::ENODEV));
    }
}
