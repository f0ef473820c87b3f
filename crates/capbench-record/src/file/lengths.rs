//! How long packets are in a file and on the wire, which octets of them the file does not have, and what becomes of lengths that
//! contradict each other.

use capbench_model::units::SnapLength;

/// The two lengths of a packet's record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lengths {
    /// Octets in the record.
    pub captured: u32,
    /// Octets on the wire, without FCS.
    pub original: u32,
}

/// Octets of packets on the wire, and those of them that are not in the file. Octets in the file are `original` less both others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LengthCounts {
    /// Octets on the wire.
    pub original: u64,
    /// Octets behind the snap length that the user asked for.
    pub snapped: u64,
    /// Octets that the snap length allows, and that are not in the file.
    pub cut: u64,
    /// Packets with such octets.
    pub cut_packets: u64,
}

impl LengthCounts {
    /// Adds a packet of a file with this snap length.
    #[inline(always)]
    pub fn add(&mut self, lengths: Lengths, snap: SnapLength) {
        self.original += u64::from(lengths.original);
        if lengths.captured < lengths.original {
            self.add_shorter(lengths, snap);
        }
    }

    #[inline(never)]
    fn add_shorter(&mut self, Lengths { captured, original }: Lengths, snap: SnapLength) {
        // The largest snap length is no wish of the user: it is what other programs read.
        let wanted = if snap.cuts() { original.min(snap.octets()) } else { original };
        self.snapped += u64::from(original - wanted);
        self.cut += u64::from(wanted.saturating_sub(captured));
        self.cut_packets += u64::from(captured < wanted);
    }
}

/// Packets with more captured octets than their original length, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MendedLengths {
    /// Their octets behind the original length, which rules, are cut.
    pub cut: u64,
    /// Their original length of 0, which is none, became the captured one.
    pub raised: u64,
}

impl MendedLengths {
    /// Mends and counts a packet whose lengths contradict each other.
    #[inline]
    pub(super) fn mend(&mut self, captured: &mut &[u8], original: &mut u32) {
        let octets = *original as usize;
        if captured.len() <= octets {
            return;
        }
        if octets == 0 {
            *original = captured.len() as u32;
            self.raised += 1;
        } else {
            *captured = &captured[..octets];
            self.cut += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LengthCounts, Lengths};
    use capbench_model::units::SnapLength;

    fn counts(snap: u32, packets: &[(u32, u32)]) -> LengthCounts {
        let mut counts = LengthCounts::default();
        for &(captured, original) in packets {
            counts.add(Lengths { captured, original }, SnapLength::new(snap));
        }
        counts
    }

    #[test]
    fn a_packet_is_cut_where_it_is_shorter_than_its_length_and_the_snap_length_allow() {
        let expected = LengthCounts { original: 66_000, snapped: 0, cut: 64_018, cut_packets: 1 };
        assert_eq!(counts(0, &[(1982, 66_000)]), expected);
        assert_eq!(counts(0, &[(60, 60), (61, 60)]), LengthCounts { original: 120, ..counts(0, &[]) });
        // The snap length cuts the first and the second; the third is shorter than it allows.
        let expected = LengthCounts { original: 260, snapped: 54, cut: 6, cut_packets: 1 };
        assert_eq!(counts(50, &[(50, 100), (50, 54), (44, 50), (56, 56)]), expected);
    }

    #[test]
    fn what_is_longer_than_other_programs_read_is_cut_unless_the_user_asked_for_less() {
        let most = SnapLength::EVERYTHING.octets();
        assert_eq!(counts(0, &[(most, most + 10)]).cut, 10);
        assert_eq!(
            counts(most - 1, &[(most - 1, most + 10)]),
            LengthCounts { original: u64::from(most) + 10, snapped: 11, ..counts(0, &[]) }
        );
    }
}
