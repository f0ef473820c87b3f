//! Counters of the merge.

/// Counters of the merge since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeTally {
    /// The ports, in the order of [`super::Merge::new`].
    pub ports: Vec<PortTally>,
    /// Frames delivered before all reporting ports had promised to deliver nothing older: they had reached the window, or the
    /// limit of unfinished batches was reached.
    pub forced: u64,
    /// Maximum number of unfinished batches.
    pub most_held_batches: u64,
    /// Maximum of captured octets in unfinished batches, without ring headers.
    pub most_held_octets: u64,
    /// How often the host's clock was set back by more than a second, seen in frame timestamps or in the `now` of the calls.
    pub clock_set_back: u64,
    /// How often it was set forward by more than a second, seen in the `now` of the calls.
    pub clock_set_forward: u64,
}

/// Counters of the merge for a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTally {
    /// Frames delivered.
    pub frames: u64,
    /// Frames that were older than a frame delivered before. They come after it in the stream.
    pub late: u64,
    /// Maximum lateness in nanoseconds; absent if no frame was late. Late frames from before a backward clock step do not count.
    pub latest_ns: Option<u64>,
    /// Batches whose frames were not in time order.
    pub unsorted_batches: u64,
}
