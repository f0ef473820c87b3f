//! Telling the frames of a trial by their first octets, for methods that count frames where they are.

/// How frames of a trial look to a method that does not hand frames over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameMark {
    /// What octets must be, from the destination address on, in ascending order.
    pub octets: Vec<MaskedOctet>,
    /// Where eight octets begin that number a frame, big-endian: trial (16 bits), stream (8), sequence number (40).
    pub stamp_at: u16,
    /// The trial.
    pub trial: u16,
}

/// One octet of a frame that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskedOctet {
    /// Its place from the destination address on.
    pub at: u16,
    /// The bits that are known.
    pub mask: u8,
    /// Their values; 0 outside the mask.
    pub value: u8,
}

/// Frames that a method counted in the kernel instead of handing them over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames with the mark, each sequence number counted once.
    pub marked: u64,
    /// Repetitions of those; absent where the method does not tell.
    pub duplicates: Option<u64>,
    /// Frames without the mark.
    pub other: u64,
    /// Octets of all of these, without FCS.
    pub octets: u64,
}
