//! What a method counted since it was opened.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use capbench_sys::Result;
use capbench_sys::packet::{PacketSocket, PacketStatistics};

/// Counters since the capture was opened, all of 64 bits and monotonic. Absent means that the method cannot tell; it does
/// not mean 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames that reached the method's capture point, those lost there in fill ring, ring and method queue included.
    pub accepted: Option<u64>,
    /// Where the method can lose frames, each place once.
    pub losses: Vec<Loss>,
    /// Places that the method does not have. What becomes of frames at a place that stands neither here nor among the losses
    /// is unknown.
    pub without: Vec<LossPlace>,
    /// The method's own counters by their own names, as they were read.
    pub raw: Vec<(String, u64)>,
}

/// Frames lost at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loss {
    /// Where.
    pub place: LossPlace,
    /// How many; absent where the method cannot tell.
    pub count: Option<u64>,
    /// The counter that says so, or why there is none.
    pub source: Cow<'static, str>,
}

/// Places that the counters of a method, or of what is behind it, can speak of, in the order of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossPlace {
    /// The receiving hardware had no room.
    Link,
    /// An XDP program did not hand it to the method, or a redirect failed.
    Xdp,
    /// The network stack, in front of the method's socket.
    Stack,
    /// A filter in front of the method.
    Filter,
    /// There was no free buffer to receive into: AF_XDP's fill ring was empty.
    FillRing,
    /// Ring or socket queue had no room.
    Ring,
    /// A queue of the method's own had no room.
    MethodQueue,
    /// A queue behind the method had no room, such as a worker's ([`crate::hand_off`]). No method counts there: whoever has
    /// the queue does.
    ApplicationQueue,
    /// The output did not keep up, or could not be written.
    Writer,
}

impl LossPlace {
    /// Whether frames lost there have reached the capture point and count as accepted.
    pub fn is_accepted(self) -> bool {
        matches!(
            self,
            Self::FillRing | Self::Ring | Self::MethodQueue | Self::ApplicationQueue | Self::Writer
        )
    }
}

impl Counters {
    /// The name of the raw counter behind [`Counters::cut`].
    pub(crate) const CUT: &'static str = "cut";

    /// Frames of which less was captured than the snap length allows; `None` for methods that do not count them.
    pub fn cut(&self) -> Option<u64> {
        self.raw(Self::CUT)
    }

    /// What was lost at a place, where the method knows.
    pub fn lost_at(&self, place: LossPlace) -> Option<u64> {
        self.losses.iter().find(|loss| loss.place == place)?.count
    }

    /// What was lost after it was accepted; `None` where a place cannot tell, or nothing is known of any.
    pub fn dropped(&self) -> Option<u64> {
        let mut lost =
            self.losses.iter().filter(|loss| loss.place.is_accepted()).map(|loss| loss.count).peekable();
        lost.peek()?;
        lost.sum()
    }

    /// Whether the method takes frames by an XDP program, so that they never reach the stack: only such a method can lose some in
    /// XDP or for want of a buffer in a fill ring.
    pub fn takes_by_xdp(&self) -> bool {
        self.losses.iter().any(|loss| matches!(loss.place, LossPlace::Xdp | LossPlace::FillRing))
    }

    /// What several captures of one interface counted together, place by place. What one of them cannot tell is unknown of
    /// all of them.
    pub fn sum<'c>(several: impl IntoIterator<Item = &'c Self>) -> Self {
        let mut several = several.into_iter();
        let Some(first) = several.next() else { return Self::default() };
        several.fold(first.clone(), |mut sum, other| {
            sum.accepted = sum.accepted.zip(other.accepted).map(|(a, b)| a + b);
            for loss in &mut sum.losses {
                loss.count = loss.count.zip(other.lost_at(loss.place)).map(|(a, b)| a + b);
            }
            for (name, value) in &mut sum.raw {
                *value += other.raw(name).unwrap_or(0);
            }
            sum
        })
    }

    /// What was counted since `before`, an earlier reading of the same capture.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let difference = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then.unwrap_or(0)));
        Self {
            accepted: difference(self.accepted, before.accepted),
            losses: self
                .losses
                .iter()
                .map(|loss| Loss {
                    count: difference(loss.count, before.lost_at(loss.place)),
                    ..loss.clone()
                })
                .collect(),
            without: self.without.clone(),
            raw: self
                .raw
                .iter()
                .map(|(name, value)| (name.clone(), value.saturating_sub(before.raw(name).unwrap_or(0))))
                .collect(),
        }
    }

    /// Whether the ring was full at some time since `before`, an earlier reading of the same capture: it has lost frames, or a V3
    /// ring says so itself.
    pub fn shows_full_ring_since(&self, before: &Self) -> bool {
        let lost = |of: &Self| of.lost_at(LossPlace::Ring).unwrap_or(0);
        let freezes = |of: &Self| of.raw(FREEZES).unwrap_or(0);
        lost(self) > lost(before) || freezes(self) > freezes(before)
    }

    /// One of the method's own counters.
    pub fn raw(&self, name: &str) -> Option<u64> {
        self.raw.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// Places that a packet socket, or a card's own ring, does not have: one ring or queue is all there is.
pub(crate) const ONE_RING_WITHOUT: [LossPlace; 2] = [LossPlace::FillRing, LossPlace::MethodQueue];

/// The counter of a V3 ring that has no free block.
const FREEZES: &str = "tp_freeze_q_cnt";

/// Accumulates `PACKET_STATISTICS`. The kernel resets them whenever they are read, so they are read here and nowhere
/// else, and accumulated in 64 bits. Clones have one account in common.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accumulator {
    sums: Arc<Mutex<Sums>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    packets: u64,
    drops: u64,
    freezes: Option<u64>,
}

impl Accumulator {
    /// Reads the socket's counters, which resets them, and returns the totals.
    pub(crate) fn read(&self, socket: &PacketSocket) -> Result<Counters> {
        Ok(self.add(socket.take_statistics()?).total())
    }

    /// The totals with these counters added.
    #[cfg(test)]
    pub(crate) fn of(&self, since: PacketStatistics) -> Counters {
        self.add(since).total()
    }

    fn add(&self, since: PacketStatistics) -> Sums {
        let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
        sums.packets += u64::from(since.packets);
        sums.drops += u64::from(since.drops);
        if let Some(freezes) = since.freezes {
            sums.freezes = Some(sums.freezes.unwrap_or(0) + u64::from(freezes));
        }
        *sums
    }
}

impl Sums {
    fn total(self) -> Counters {
        let mut raw = vec![("tp_packets".into(), self.packets), ("tp_drops".into(), self.drops)];
        // How often a V3 ring was found full: events, not frames.
        raw.extend(self.freezes.map(|freezes| (FREEZES.into(), freezes)));
        Counters {
            accepted: Some(self.packets),
            losses: vec![Loss {
                place: LossPlace::Ring,
                count: Some(self.drops),
                source: "PACKET_STATISTICS: tp_drops".into(),
            }],
            without: ONE_RING_WITHOUT.to_vec(),
            raw,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Accumulator, Counters, LossPlace};
    use capbench_sys::packet::PacketStatistics;

    #[test]
    fn totals_pass_32_bits_and_absent_stays_absent() {
        let sum = Accumulator::default();
        for _ in 0..3 {
            sum.add(PacketStatistics { packets: u32::MAX, drops: 7, freezes: None });
        }
        let total = sum.add(PacketStatistics { packets: 0, drops: 0, freezes: None }).total();
        assert_eq!((total.accepted, total.dropped()), (Some(3 * u64::from(u32::MAX)), Some(21)));
        assert_eq!((total.raw("tp_freeze_q_cnt"), total.lost_at(LossPlace::FillRing)), (None, None));
        assert_eq!(Counters::default().dropped(), None);
    }

    #[test]
    fn a_later_reading_is_told_from_an_earlier_one() {
        let sum = Accumulator::default();
        let before = sum.add(PacketStatistics { packets: 10, drops: 3, freezes: Some(1) }).total();
        let now = sum.clone().add(PacketStatistics { packets: 20, drops: 4, freezes: Some(2) });
        let since = now.total().since(&before);
        assert_eq!(
            (since.accepted, since.dropped(), since.raw("tp_freeze_q_cnt")),
            (Some(20), Some(4), Some(2))
        );
        assert!(now.total().shows_full_ring_since(&before));
        let frozen = sum.add(PacketStatistics { packets: 0, drops: 0, freezes: Some(1) }).total();
        assert!(frozen.shows_full_ring_since(&now.total()));
        assert!(
            !frozen.shows_full_ring_since(&frozen) && !Counters::default().shows_full_ring_since(&before)
        );
        assert_eq!(before.since(&Counters::default()), before, "nothing was counted before it was opened");
        assert_eq!(Counters::default().since(&before).accepted, None, "absent is not zero");
    }
}
