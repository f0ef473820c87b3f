//! Stacks of headers: what each field of each header holds, from frame to frame.
//!
//! `protocols` has the table of protocols and fields, `pattern` the values of a field, `payload` the octets after the headers;
//! `parse` reads them. Names, patterns and defaults are those of the Open Traffic Generator model, so that its JSON and the TOML of
//! a packet file are one form. `plan` prepares the frames of a stack, `writer` writes them.

mod parse;
mod pattern;
mod payload;
mod plan;
pub mod protocols;
mod sequence;
mod writer;

use std::fmt;

pub use pattern::Pattern;
pub use payload::Payload;
pub use plan::StackPlan;
use protocols::{CHECKSUM_PRESENT, CUSTOM, Field, Protocol};
pub use writer::StackFrames;

use crate::FrameError;
use crate::units::FCS_OCTETS;

/// The headers of a frame, in their order on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeaderStack {
    headers: Vec<Header>,
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
    octets: Vec<u8>,
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

/// `ethernet/ipv4/udp`.
impl fmt::Display for HeaderStack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, header) in self.headers.iter().enumerate() {
            write!(f, "{}{}", if index == 0 { "" } else { "/" }, header.protocol.name)?;
        }
        Ok(())
    }
}

/// Why a part of a stack is refused, before the place of the header is known.
#[derive(Debug)]
struct Refused {
    /// The place in the header, from the inside out.
    places: Vec<String>,
    reason: String,
}

fn refuse(place: &str, reason: &str) -> Refused {
    let places = if place.is_empty() { vec![] } else { vec![place.to_owned()] };
    Refused { places, reason: reason.to_owned() }
}

impl Refused {
    /// The same inside a member of this name.
    fn inside(mut self, place: &str) -> Self {
        self.places.push(place.to_owned());
        self
    }

    fn place(&self) -> String {
        let places: Vec<_> = self.places.iter().rev().map(String::as_str).collect();
        places.join(".")
    }

    fn of_header(self, index: usize, protocol: &str) -> FrameError {
        FrameError::Header {
            number: index + 1,
            protocol: protocol.to_owned(),
            place: self.place(),
            reason: self.reason,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let separator = if self.places.is_empty() { "" } else { ": " };
        write!(f, "{}{separator}{}", self.place(), self.reason)
    }
}

#[cfg(test)]
mod tests;
