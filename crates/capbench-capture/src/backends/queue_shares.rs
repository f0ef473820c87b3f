//! The receive queues that members of a group share.

use std::num::NonZeroU16;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

/// Receive queues, from 0 on, and how many members have joined.
#[derive(Debug)]
pub(super) struct QueueShares {
    queues: u32,
    joined: Mutex<u32>,
}

impl QueueShares {
    /// Of this many queues.
    pub(super) fn of(queues: u32) -> Self {
        Self { queues, joined: Mutex::default() }
    }

    /// The queues of the next of this many members: they share all, in order. One each if their number is unknown. `None`: there are
    /// fewer queues than members.
    pub(super) fn next(&self, members: Option<NonZeroU16>) -> Option<Range<u32>> {
        let members = members.map_or(self.queues, |members| members.get().into());
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let (nth, queues) = (u64::from(*joined), u64::from(self.queues));
        let at = |nth: u64| (nth * queues / u64::from(members)) as u32;
        let own = at(nth)..at(nth + 1);
        (members <= self.queues && own.end <= self.queues).then(|| {
            *joined += 1;
            own
        })
    }

    /// How many queues there are.
    pub(super) fn queues(&self) -> u32 {
        self.queues
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_share_all_queues_and_none_twice() {
        let shares = |queues, members: Option<u16>| {
            let (shares, members) = (QueueShares::of(queues), members.and_then(NonZeroU16::new));
            std::iter::from_fn(|| shares.next(members)).map(|own| (own.start, own.end)).collect::<Vec<_>>()
        };
        assert_eq!(shares(3, Some(2)), [(0, 1), (1, 3)]);
        assert_eq!(shares(2, None), [(0, 1), (1, 2)]);
        assert_eq!(shares(2, Some(3)), []);
    }
}
