//! What a method counted since it was opened.

use std::borrow::Cow;

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
    /// A queue behind the method had no room, such as a worker's. No method counts there: who has
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
    pub const CUT: &'static str = "cut";

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
pub const ONE_RING_WITHOUT: [LossPlace; 2] = [LossPlace::FillRing, LossPlace::MethodQueue];

/// The counter of a V3 ring that has no free block.
pub const FREEZES: &str = "tp_freeze_q_cnt";

/// How often a capture waited since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitCounts {
    /// System calls that could sleep until frames came: poll(2), or a blocking receive.
    pub waits: u64,
    /// Those of them that ended without a frame.
    pub empty: u64,
    /// Times that frames came while spinning, which saved a system call.
    pub spun: u64,
}

impl WaitCounts {
    /// How often it waited since `before`, an earlier reading of the same capture.
    #[must_use]
    pub fn since(self, before: Self) -> Self {
        Self {
            waits: self.waits - before.waits,
            empty: self.empty - before.empty,
            spun: self.spun - before.spun,
        }
    }
}
