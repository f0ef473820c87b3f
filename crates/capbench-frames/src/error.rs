//! The error of this crate: what was asked, and what is allowed.

/// Why frames cannot be planned. Every message is one line for a terminal.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A frame size outside what Ethernet or this crate can express.
    #[error("frame size {asked} is not allowed: {least} to {most} octets, the 4-octet FCS included")]
    FrameSize {
        /// The size that was asked for, in octets.
        asked: u64,
        /// The least allowed size, in octets.
        least: u16,
        /// The largest allowed size, in octets.
        most: u16,
    },
    /// A frame size that cannot hold the headers of the layout and the stamp.
    #[error("frame size {asked} is too small for {layout}: at least {least} octets, the FCS included")]
    TooSmallForLayout {
        /// The size that was asked for, in octets.
        asked: u16,
        /// The headers, for example `IPv6/TCP with a VLAN tag`.
        layout: String,
        /// The least size that holds them, in octets.
        least: u16,
    },
    /// A frame size that the interface's MTU does not let pass.
    #[error(
        "frame size {asked} needs an MTU of {needed}, but the interface has {mtu}: at most {most} octets"
    )]
    LargerThanMtu {
        /// The size that was asked for, in octets.
        asked: u16,
        /// The network-layer length of such a frame.
        needed: u32,
        /// The MTU of the interface.
        mtu: u32,
        /// The largest frame size that passes, in octets.
        most: u32,
    },
    /// A number of flows outside the range of source ports.
    #[error("{asked} flows are not allowed: 1 to {most}")]
    Flows {
        /// The number that was asked for.
        asked: u32,
        /// The largest number.
        most: u32,
    },
    /// A snapshot length that cuts off the stamp, so that no frame could be recognised.
    #[error("snapshot length {asked} cuts off the stamp of {layout}: at least {least} octets")]
    Snaplen {
        /// The length that was asked for, in octets.
        asked: u32,
        /// The headers.
        layout: String,
        /// The least length that keeps the stamp, in octets.
        least: usize,
    },
    /// A rate that is not a positive number in range.
    #[error("rate {asked} is not allowed: above 0 and at most 1e12 frames/s (0.000001 is the least)")]
    Rate {
        /// The rate that was asked for, frames per second.
        asked: f64,
    },
    /// A bit rate that is not a positive number.
    #[error("bit rate {asked} is not allowed: a finite number of bit/s above 0")]
    BitRate {
        /// The rate that was asked for, bits per second.
        asked: f64,
    },
    /// Text that does not say what it should.
    #[error("'{text}' is not {wanted}")]
    Parse {
        /// The text.
        text: String,
        /// What was wanted, with an example.
        wanted: &'static str,
    },
    /// Text that names a thing that does not exist.
    #[error("there is no {kind} '{name}'; there are: {known}")]
    Unknown {
        /// What was named, for example `transmit method`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A schedule that makes no sense.
    #[error("{0}")]
    Schedule(&'static str),
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, FrameError>;

impl FrameError {
    pub(crate) fn parse(text: &str, wanted: &'static str) -> Self {
        Self::Parse { text: text.to_owned(), wanted }
    }
}
