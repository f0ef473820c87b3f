//! Units of an interface's timestamps (draft-ietf-opsawg-pcapng, `if_tsresol` and `if_tsoffset`).

/// How the timestamps of an interface count: in units since an offset from 1970-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Exponent of a negative power of 10, or of 2 if the highest bit is set.
    resolution: u8,
    /// Units per second; 0 if that number exceeds 128 bits.
    per_second: u128,
    /// Seconds to add.
    offset: i64,
}

/// Nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;

impl Clock {
    /// Nanoseconds since 1970.
    pub const NANOSECONDS: Self = Self { resolution: 9, per_second: 1_000_000_000, offset: 0 };
    /// Microseconds since 1970: the default of the format.
    pub const MICROSECONDS: Self = Self { resolution: 6, per_second: 1_000_000, offset: 0 };

    /// Replaces the resolution by an `if_tsresol`.
    pub(super) fn with_resolution(self, resolution: u8) -> Self {
        let (base, power) = (if resolution & 0x80 == 0 { 10_u128 } else { 2 }, resolution & 0x7f);
        Self { resolution, per_second: base.checked_pow(power.into()).unwrap_or(0), ..self }
    }

    /// Replaces the offset, in seconds.
    pub(super) fn with_offset(self, offset: i64) -> Self {
        Self { offset, ..self }
    }

    /// The value of `if_tsresol`.
    pub(super) fn resolution(self) -> u8 {
        self.resolution
    }

    /// The offset in seconds.
    pub fn offset(self) -> i64 {
        self.offset
    }

    /// Converts units to nanoseconds since 1970, rounded down.
    pub fn ns(self, units: u64) -> i128 {
        // If a second has too many units for 128 bits, a count of 64 bits is less than one nanosecond.
        let scaled = u128::from(units) * SECOND as u128;
        scaled.checked_div(self.per_second).unwrap_or(0) as i128 + i128::from(self.offset) * SECOND
    }

    /// Whether this count is a whole number of nanoseconds.
    pub fn is_whole_ns(self, units: u64) -> bool {
        let scaled = u128::from(units) * SECOND as u128;
        scaled.checked_rem(self.per_second).unwrap_or(scaled) == 0
    }

    /// Converts units to nanoseconds since 1970, rounded down, saturating at the limits of 64 bits.
    #[inline]
    pub(super) fn ns_of_64_bits(self, units: u64) -> u64 {
        if self == Self::NANOSECONDS { units } else { self.ns(units).clamp(0, u64::MAX.into()) as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    fn clock(resolution: u8, offset: i64) -> Clock {
        Clock::MICROSECONDS.with_resolution(resolution).with_offset(offset)
    }

    #[test]
    fn times_of_any_resolution_become_nanoseconds() {
        let ns = |resolution: u8, offset: i64, units: u64| clock(resolution, offset).ns_of_64_bits(units);
        assert_eq!(Clock::MICROSECONDS.ns_of_64_bits(7), 7000);
        assert_eq!(ns(9, 0, u64::MAX), u64::MAX);
        assert_eq!(ns(0, 0, 7), 7_000_000_000);
        assert_eq!(ns(12, 0, 1_999), 1);
        assert_eq!(ns(19, 0, u64::MAX), 1_844_674_407);
        assert_eq!(ns(0x80 | 10, 0, 1025), 1_000_976_562);
        assert_eq!(ns(0x80 | 64, 0, u64::MAX), 999_999_999);
        assert_eq!(ns(9, 1_700_000_000, 5), 1_700_000_000_000_000_005);
        assert_eq!(ns(9, -2, 1_000_000_000), 0, "the nearest to a time before 1970");
        assert_eq!(ns(0, 0, u64::MAX), u64::MAX, "the nearest to a time after the last of 64 bits");
        for resolution in 0..=255 {
            for offset in [0, i64::MIN, i64::MAX] {
                ns(resolution, offset, u64::MAX);
            }
        }
    }

    #[test]
    fn times_before_1970_and_beyond_64_bits_are_exact() {
        assert_eq!(clock(9, -2).ns(1_000_000_000), -1_000_000_000);
        assert_eq!(clock(6, -5_000_000_000).ns(1), -4_999_999_999_999_999_000);
        assert_eq!(clock(0, 0).ns(u64::MAX), i128::from(u64::MAX) * 1_000_000_000);
        assert!(
            clock(9, 0).is_whole_ns(7) && clock(12, 0).is_whole_ns(2000) && !clock(12, 0).is_whole_ns(1999)
        );
        assert!(clock(0x80 | 9, 0).is_whole_ns(512) && !clock(0x80 | 10, 0).is_whole_ns(1));
        assert!(clock(127, 0).is_whole_ns(0) && !clock(127, 0).is_whole_ns(1));
    }
}
