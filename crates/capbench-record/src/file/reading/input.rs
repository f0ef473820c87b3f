//! A read-ahead buffer that keeps a whole record contiguous.

use std::io::{self, ErrorKind, Read};

/// Octets to read at once, and the initial size of the buffer. Inputs of a fuzzer are small.
const AHEAD: usize = if cfg!(fuzzing) { 4 << 10 } else { 256 << 10 };

/// A source of octets, and the octets that were read but not yet used.
#[derive(Debug)]
pub(super) struct Input<R> {
    source: R,
    memory: Vec<u8>,
    begin: usize,
    end: usize,
}

/// Whether the wanted octets are available.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Whole,
    /// The source ended before the first of them.
    Nothing,
    /// The source ended in between.
    Part,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, memory: vec![0; AHEAD], begin: 0, end: 0 }
    }

    /// Reads until this many octets are available. Memory doubles with the octets read; it does not follow the claims of a
    /// damaged file.
    pub(super) fn want(&mut self, octets: usize) -> io::Result<There> {
        if self.end - self.begin >= octets {
            return Ok(There::Whole);
        }
        if self.memory.len() - self.begin < octets {
            self.memory.copy_within(self.begin..self.end, 0);
            self.end -= self.begin;
            self.begin = 0;
        }
        while self.end - self.begin < octets {
            if self.end == self.memory.len() {
                let larger = (self.memory.len() * 2).min(octets.max(AHEAD));
                self.memory.resize(larger, 0);
            }
            match self.source.read(&mut self.memory[self.end..]) {
                Ok(0) if self.end == self.begin => return Ok(There::Nothing),
                Ok(0) => return Ok(There::Part),
                Ok(octets) => self.end += octets,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(There::Whole)
    }

    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        &self.memory[self.begin..self.end]
    }

    #[inline]
    pub(super) fn octets_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.end]
    }

    /// Advances by this many available octets.
    #[inline]
    pub(super) fn skip(&mut self, octets: usize) {
        self.begin += octets;
        debug_assert!(self.begin <= self.end, "only what is there can be skipped");
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn memory(&self) -> usize {
        self.memory.capacity()
    }
}
