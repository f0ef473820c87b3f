//! Several captures that share the frames of one interface, each frame going to one of them (`PACKET_FANOUT`, packet(7)).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use capbench_sys::packet::FanoutMode;

/// A group of captures, and how it shares frames. Clones mean the same group.
///
/// The first capture that is opened with it makes the group, and the kernel chooses a number for it that no other group of
/// the network namespace has; those opened later join it, in whatever thread. A group ends with its last member. While
/// members are still being opened, and when one of them is closed, frames that would have gone to it are captured by none or
/// by another one: what a group is to capture comes after all of it is open.
#[derive(Clone, Debug)]
pub struct Fanout {
    mode: FanoutMode,
    rollover: bool,
    /// The group's number, once somebody has made it.
    group: Arc<Mutex<Option<u16>>>,
}

impl Fanout {
    /// A group that does not exist yet.
    pub fn new(mode: FanoutMode) -> Self {
        Self { mode, rollover: false, group: Arc::default() }
    }

    /// A group that exists, of another program perhaps, which has the same mode.
    pub fn existing(mode: FanoutMode, group: u16) -> Self {
        Self { group: Arc::new(Mutex::new(Some(group))), ..Self::new(mode) }
    }

    /// A group that does not exist yet, by the same rules: groups are of one interface each.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { group: Arc::default(), ..*self }
    }

    /// The same with or without sending frames to another member when the ring of their own is full, which tears flows apart
    /// instead of losing frames. All members have to agree on it.
    #[must_use]
    pub fn with_rollover(self, rollover: bool) -> Self {
        Self { rollover, ..self }
    }

    /// How the member for a frame is chosen.
    pub fn mode(&self) -> FanoutMode {
        self.mode
    }

    /// The group's number, once it has a member.
    pub fn group(&self) -> Option<u16> {
        *self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it sends frames to another member when a ring is full.
    pub fn rollover(&self) -> bool {
        self.rollover
    }

    /// Adds a member: `join` gets the group's number, `None` where it is to make the group, and returns the number.
    ///
    /// # Errors
    /// Those of `join`.
    pub fn join<E>(&self, join: impl FnOnce(Option<u16>) -> Result<u16, E>) -> Result<u16, E> {
        // Held meanwhile: of two that are opened at once only one makes the group.
        let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        let id = join(*group)?;
        *group = Some(id);
        Ok(id)
    }
}

impl fmt::Display for Fanout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.mode, if self.rollover { ", rollover" } else { "" })
    }
}
