//! What the merge counted.

/// What the merge counted since it began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergeTally {
    /// Each port, in the order in which they were given.
    pub ports: Vec<PortTally>,
    /// Frames that went out although not every port that reports had promised to give nothing older: because they had
    /// been held for as long as the window allows, or because as many batches were held as may be.
    pub forced: u64,
    /// The most batches that were held at once.
    pub most_held_batches: u64,
    /// The most captured octets, headers of rings not counted, that lay in batches held at once.
    pub most_held_octets: u64,
    /// How often the host's clock was set back by more than a second, as seen in the times of frames or in the
    /// moments that the merge was given.
    pub clock_set_back: u64,
    /// How often it was set forward by more than a second, as seen in the moments.
    pub clock_set_forward: u64,
}

/// What the merge counted of a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTally {
    /// Frames given out.
    pub frames: u64,
    /// Those of them that were older than a frame given out before. They stand behind it in the stream.
    pub late: u64,
    /// By how many nanoseconds at most; absent where none was late. A late frame from before the host's clock was set
    /// back says nothing here.
    pub latest_ns: Option<u64>,
    /// Batches whose frames were not in time order.
    pub unsorted_batches: u64,
}
