//! Stacks of headers: what each field of each header holds, from frame to frame.
//!
//! `protocols` has the table of protocols and fields, `pattern` the values of a field, `payload` the octets after the headers;
//! `parse` reads them. Names, patterns and defaults are those of the Open Traffic Generator model, so that its JSON and the TOML of
//! a packet file are one form. `plan` prepares the frames of a stack, and `plan/writer` writes them.

mod parse;
mod pattern;
mod payload;
mod plan;
pub mod protocols;
mod sequence;

use std::fmt;
use std::sync::Arc;

pub use pattern::Pattern;
pub use payload::Payload;
pub use plan::{FrameLimits, StackFrames, StackPlan};
use protocols::{CHECKSUM_PRESENT, CUSTOM, Field, Protocol};
use serde::de;

use crate::FrameError;
use crate::units::FCS_OCTETS;

/// The headers of a frame, in their order on the wire. Copies share them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderStack {
    headers: Arc<[Header]>,
    /// Whether frames inside of frames keep room for their FCS.
    has_inner_fcs: bool,
}

/// A header of a stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    protocol: &'static Protocol,
    /// The fields with a stated pattern.
    patterns: Vec<(&'static Field, Pattern)>,
    /// The octets of a `custom` header.
    octets: Box<[u8]>,
}

impl HeaderStack {
    /// The headers.
    pub fn headers(&self) -> &[Header] {
        &self.headers
    }

    /// The same, but an Ethernet frame inside of another one ends before the last 4 octets, the room of an FCS. Lengths and
    /// checksums of what is in it leave them out. Testers of the Open Traffic Generator do so; RFC 7348 has no inner FCS.
    #[must_use]
    pub fn with_inner_fcs(self) -> Self {
        Self { has_inner_fcs: true, ..self }
    }

    /// Octets at the end of a frame that do not belong to what is in header number `index` or behind it.
    fn octets_behind(&self, index: usize) -> usize {
        let is_inner = |header: &&Header| header.protocol.name == "ethernet";
        let inner = self.headers.iter().take(index + 1).skip(1).filter(is_inner).count();
        if self.has_inner_fcs { usize::from(FCS_OCTETS) * inner } else { 0 }
    }

    /// Octets of all headers.
    pub fn octets(&self) -> usize {
        self.headers.iter().map(Header::octets).sum()
    }

    /// Octets of memory.
    fn memory(&self) -> usize {
        let values = |(_, pattern): &(_, Pattern)| match pattern {
            Pattern::Values(values) => size_of_val(&**values),
            _ => 0,
        };
        let of_header = |header: &Header| {
            let patterns = header.patterns.capacity() * size_of::<(&Field, Pattern)>();
            size_of::<Header>()
                + header.octets.len()
                + patterns
                + header.patterns.iter().map(values).sum::<usize>()
        };
        self.headers.iter().map(of_header).sum()
    }
}

impl Header {
    /// The protocol.
    pub fn protocol(&self) -> &'static Protocol {
        self.protocol
    }

    /// The stated pattern of a field; `None`: the protocol's default.
    pub fn pattern(&self, field: &Field) -> Option<&Pattern> {
        self.patterns.iter().find(|(stated, _)| *stated == field).map(|(_, pattern)| pattern)
    }

    /// The octets of a `custom` header; empty for all other protocols.
    pub fn custom(&self) -> &[u8] {
        &self.octets
    }

    /// Its fields that are on the wire.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> {
        let end = 8 * self.octets();
        self.protocol.fields.iter().filter(move |field| field.range().end <= end)
    }

    /// Its length.
    pub fn octets(&self) -> usize {
        match self.protocol.name {
            CUSTOM => self.octets.len(),
            _ if self.has_checksum_of_gre() => 8,
            _ => self.protocol.octets,
        }
    }

    fn has_checksum_of_gre(&self) -> bool {
        self.patterns.contains(&(&self.protocol.fields[0], Pattern::Value(1)))
            && self.protocol.fields[0].name == CHECKSUM_PRESENT
    }
}

/// Largest number of headers that are named: a message is one line.
const MOST_NAMED: usize = 16;

/// `ethernet/ipv4/udp`.
impl fmt::Display for HeaderStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, header) in self.headers.iter().take(MOST_NAMED).enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { "/" }, header.protocol.name)?;
        }
        match self.headers.len() {
            ..=MOST_NAMED => Ok(()),
            headers => write!(f, "/… ({headers} headers)"),
        }
    }
}

/// An error for serde, which knows only the place of the whole value: the message begins with the rest of the place, as it
/// continues there.
fn for_serde<E: de::Error>(error: FrameError) -> E {
    match error {
        FrameError::At { place, reason } if !place.is_empty() && !place.starts_with('[') => {
            E::custom(format_args!(".{place}: {reason}"))
        }
        other => E::custom(other),
    }
}

#[cfg(test)]
mod tests;
