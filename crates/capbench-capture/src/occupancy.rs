//! How full a capture is.

use std::fmt;

/// How much of the room for frames between kernel and application is in use: waiting frames, or blocks that the application
/// has. A full capture loses the next frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    used: u64,
    of: u64,
}

impl Occupancy {
    /// Nothing is free.
    pub const FULL: Self = Self { used: 1, of: 1 };

    /// `used` of `of`, in one unit: slots, blocks or bytes. `None` if `of` is 0. Use beyond the room, which the kernel allows
    /// for the last frame of a queue, counts as full.
    pub fn new(used: impl Into<u64>, of: impl Into<u64>) -> Option<Self> {
        let (used, of) = (used.into(), of.into());
        (of > 0).then(|| Self { used: used.min(of), of })
    }

    /// From 0 (empty) to 1 (full).
    pub fn share(self) -> f64 {
        self.used as f64 / self.of as f64
    }

    /// Whether no frame waits.
    pub fn is_empty(self) -> bool {
        self.used == 0
    }

    /// Whether there is no room for a frame.
    pub fn is_full(self) -> bool {
        self.used == self.of
    }

    /// Whether there is no room for a frame once `more` of the unit is in use.
    pub fn is_full_with(self, more: u64) -> bool {
        self.of - self.used <= more
    }

    /// Whether more than one of so many parts of the room is free, and more than one unit: the kernel needs one for the next frames.
    pub fn has_free_part(self, parts: u64) -> bool {
        self.of - self.used > (self.of / parts).max(1)
    }

    /// The fuller of two.
    #[must_use]
    pub fn or_fuller(self, other: Self) -> Self {
        let across = |one: Self, other: Self| u128::from(one.used) * u128::from(other.of);
        if across(other, self) > across(self, other) { other } else { self }
    }

    /// The fullest of several. `None` if all are unknown.
    pub fn fullest(several: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        several.into_iter().flatten().reduce(Self::or_fuller)
    }
}

impl fmt::Display for Occupancy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0} %", 100.0 * self.share())
    }
}

#[cfg(test)]
mod tests {
    use super::Occupancy;

    #[test]
    fn room_is_a_quarter_and_more_than_one() {
        let most_with_room =
            |of: u64| (0..=of).rev().find(|&used| Occupancy::new(used, of).unwrap().has_free_part(4));
        assert_eq!(
            [1, 2, 3, 4, 8, 64].map(most_with_room),
            [None, Some(0), Some(1), Some(2), Some(5), Some(47)]
        );
    }

    #[test]
    fn shares_are_compared_across_units() {
        let fill = |used: u64, of: u64| Occupancy::new(used, of);
        assert_eq!(fill(0, 0), None);
        assert_eq!(fill(70, 64).unwrap().share(), 1.0);
        assert_eq!(Occupancy::fullest([None, fill(1, 64), fill(2, 100), None]), fill(2, 100));
        assert_eq!(Occupancy::fullest([fill(u64::MAX, u64::MAX), fill(1, 2)]), fill(u64::MAX, u64::MAX));
        assert_eq!(Occupancy::fullest([None, None]), None);
        assert_eq!(fill(3, 64).unwrap().to_string(), "5 %");
        assert!(fill(70, 64).unwrap().is_full() && !fill(63, 64).unwrap().is_full());
        assert_eq!(
            [0, 1, u64::MAX].map(|more| fill(63, 64).unwrap().is_full_with(more)),
            [false, true, true]
        );
    }
}
