//! Recognising the frames of a trial by their first octets, for methods that count frames in the kernel.

/// How to recognise the frames of a trial, for a method that returns no frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameMark {
    /// The required octets, from the destination address on, in ascending order.
    pub octets: Vec<MaskedOctet>,
    /// Offset of the eight octets that number a frame, big-endian: trial (16 bits), stream (8), sequence number (40).
    pub stamp_at: u16,
    /// The trial.
    pub trial: u16,
}

/// One known octet of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MaskedOctet {
    /// Its offset from the destination address.
    pub at: u16,
    /// The bits that are known.
    pub mask: u8,
    /// Their values; 0 outside the mask.
    pub value: u8,
}

/// Frames that a method counted in the kernel instead of returning them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Frames with the mark, each sequence number counted once.
    pub marked: u64,
    /// Repetitions of marked frames. `None` if the method does not report them.
    pub duplicates: Option<u64>,
    /// Frames without the mark.
    pub other: u64,
    /// Octets of all of these, without FCS.
    pub octets: u64,
}
