//! Octets read ahead, so that a whole record lies in one piece.

use std::io::{self, ErrorKind, Read};

/// Read ahead at once, and the memory that is taken before any record is larger. Inputs of a fuzzer are small.
const AHEAD: usize = if cfg!(fuzzing) { 4 << 10 } else { 256 << 10 };

/// Where octets come from, and those that were read and not yet used.
#[derive(Debug)]
pub(super) struct Input<R> {
    source: R,
    memory: Vec<u8>,
    begin: usize,
    end: usize,
}

/// How far what was wanted is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum There {
    Whole,
    /// The source had ended before.
    Nothing,
    /// It ended in between.
    Part,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Self { source, memory: vec![0; AHEAD], begin: 0, end: 0 }
    }

    /// Reads until so many octets are there. Memory grows by doubling what was read, not to what a damaged file claims.
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

    /// What is there.
    #[inline]
    pub(super) fn octets(&self) -> &[u8] {
        &self.memory[self.begin..self.end]
    }

    /// The same, to be changed.
    #[inline]
    pub(super) fn octets_mut(&mut self) -> &mut [u8] {
        &mut self.memory[self.begin..self.end]
    }

    /// Goes on behind so many octets, which are there.
    #[inline]
    pub(super) fn skip(&mut self, octets: usize) {
        self.begin += octets;
        debug_assert!(self.begin <= self.end, "only what is there can be skipped");
    }

    /// Memory taken.
    #[cfg(any(test, fuzzing))]
    pub(super) fn memory(&self) -> usize {
        self.memory.capacity()
    }
}
