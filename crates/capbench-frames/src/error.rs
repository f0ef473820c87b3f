//! The error of this crate: the requested value and the allowed ones.

/// Why frames cannot be planned. Every message is one line for a terminal.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// A mix that is too large.
    #[error(
        "a mix of {sizes} sizes with weights of {total} together: up to 52 sizes and 1 to 1000000 are possible"
    )]
    Mix {
        /// The number of sizes.
        sizes: usize,
        /// The sum of the weights.
        total: u64,
    },
    /// A frame size outside what Ethernet or this crate can express.
    #[error("frame size {asked} is not allowed: {least} to {most} octets, the 4-octet FCS included")]
    FrameSize {
        /// The requested size, in octets.
        asked: u64,
        /// The smallest allowed size, in octets.
        least: u16,
        /// The largest allowed size, in octets.
        most: u16,
    },
    /// A frame size that cannot hold the headers of the layout and the stamp.
    #[error("frame size {asked} is too small for {layout}: at least {least} octets, the FCS included")]
    TooSmallForLayout {
        /// The requested size, in octets.
        asked: u16,
        /// The headers, for example `IPv6/TCP with a VLAN tag`.
        layout: String,
        /// The smallest size that holds them, in octets.
        least: u16,
    },
    /// A frame size that exceeds the interface's MTU.
    #[error(
        "frame size {asked} needs an MTU of {needed}, but the interface has {mtu}: at most {most} octets"
    )]
    LargerThanMtu {
        /// The requested size, in octets.
        asked: u16,
        /// The MTU that the frame needs: its network-layer length.
        needed: u32,
        /// The MTU of the interface.
        mtu: u32,
        /// The largest frame size that passes, in octets.
        most: u32,
    },
    /// A number of flows outside the range of source ports.
    #[error("{asked} flows are not allowed: 1 to {most}")]
    Flows {
        /// The requested number.
        asked: u32,
        /// The largest number.
        most: u32,
    },
    /// A snapshot length that cuts off the stamp, so that no frame could be recognised.
    #[error("snapshot length {asked} cuts off the stamp of {layout}: at least {least} octets")]
    Snaplen {
        /// The requested length, in octets.
        asked: u32,
        /// The headers.
        layout: String,
        /// The smallest length that keeps the stamp, in octets.
        least: usize,
    },
    /// A share of the line's speed where that is unknown.
    #[error(
        "the speed of the line is unknown, as on every virtual interface; state the rate in bit/s or packets/s"
    )]
    LineSpeed,
    /// A rate that is not a positive number in range.
    #[error("rate {asked} is not allowed: above 0 and at most 1e12 frames/s (0.000001 is the least)")]
    Rate {
        /// The requested rate, frames per second.
        asked: f64,
    },
    /// Text that cannot be parsed.
    #[error("'{text}' is not {wanted}")]
    Parse {
        /// The text.
        text: String,
        /// The expected text, with an example.
        wanted: &'static str,
    },
    /// An unknown name.
    #[error("there is no {kind} '{name}'; there are: {known}")]
    Unknown {
        /// The kind of name, for example `transmit method`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// Something at a place of a configuration: of a packet file, or of a flow of a model.
    #[error("{place}{}{reason}", if place.is_empty() { "" } else { ": " })]
    At {
        /// The members and list elements on the way to it, such as `flow[0].header[1].ipv4.src`; or a line of a text. Empty for
        /// the whole value.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Prepared frames that need too much memory.
    #[error(
        "its frames need {needed} bytes of memory, but {left} are left of {most} for all flows; state fewer sizes, values or headers"
    )]
    FrameMemory {
        /// What they need.
        needed: usize,
        /// What other flows leave.
        left: usize,
        /// What all flows together may have.
        most: usize,
    },
    /// A flow that the others or its times forbid.
    #[error("flow {name}: {reason}")]
    Flow {
        /// Its name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Headers that no frame can hold.
    #[error(
        "the headers {stack} have {octets} octets: a frame begins with 14 or more, and ends after 65535, the FCS included"
    )]
    StackLength {
        /// The headers.
        stack: String,
        /// Octets of all headers.
        octets: usize,
    },
    /// An invalid schedule.
    #[error("{0}")]
    Schedule(&'static str),
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, FrameError>;

impl FrameError {
    pub(crate) fn parse(text: &str, wanted: &'static str) -> Self {
        Self::Parse { text: text.to_owned(), wanted }
    }

    /// Something at a place, or in the whole value without one.
    pub(crate) fn at(place: &str, reason: impl Into<String>) -> Self {
        Self::At { place: place.to_owned(), reason: reason.into() }
    }

    /// The same error of a value that is at a place itself: a member, or an element such as `flow[0]`.
    #[must_use]
    pub fn inside(self, outer: &str) -> Self {
        let (inner, reason) = match self {
            Self::At { place, reason } => (place, reason),
            other => (String::new(), other.to_string()),
        };
        let dot = if outer.is_empty() || inner.is_empty() || inner.starts_with('[') { "" } else { "." };
        Self::At { place: format!("{outer}{dot}{inner}"), reason }
    }

    /// An error of [`StackPlan::new`](crate::StackPlan::new), at its place in a flow whose headers are the member `headers`.
    #[must_use]
    pub fn of_flow(self, headers: &str) -> Self {
        let member = match self {
            Self::At { .. } | Self::StackLength { .. } => headers,
            Self::FrameMemory { .. } => "",
            _ => "size",
        };
        self.inside(member)
    }
}
