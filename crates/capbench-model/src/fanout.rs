//! Several captures that share the frames of one interface, each frame going to one of them (`PACKET_FANOUT`, packet(7)).

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use capbench_sys::packet::FanoutMode;

/// A group of captures, and how it shares frames. Clones refer to the same group.
///
/// The first capture opened with it creates the group. The kernel chooses a number that no other group of the network
/// namespace has. Captures opened later join it, in any thread. A group ends with its last member. While members are being
/// opened, or when one is closed, frames for the missing member go to no capture or to another one. So send the frames to
/// capture only after the whole group is open.
#[derive(Clone, Debug)]
pub struct Fanout {
    mode: FanoutMode,
    rollover: bool,
    /// The group's number, once it exists.
    group: Arc<Mutex<Option<u16>>>,
}

impl Fanout {
    /// A group that does not exist yet.
    pub fn new(mode: FanoutMode) -> Self {
        Self { mode, rollover: false, group: Arc::default() }
    }

    /// An existing group with the same mode, possibly of another program.
    pub fn existing(mode: FanoutMode, group: u16) -> Self {
        Self { group: Arc::new(Mutex::new(Some(group))), ..Self::new(mode) }
    }

    /// A new group with the same settings: each group belongs to one interface.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { group: Arc::default(), ..*self }
    }

    /// Enables or disables rollover: a frame goes to another member when its member's ring is full. This splits flows instead
    /// of losing frames. All members must use the same setting.
    #[must_use]
    pub fn with_rollover(self, rollover: bool) -> Self {
        Self { rollover, ..self }
    }

    /// How a frame's member is chosen.
    pub fn mode(&self) -> FanoutMode {
        self.mode
    }

    /// The group's number, once it has a member.
    pub fn group(&self) -> Option<u16> {
        *self.group.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a frame goes to another member when a ring is full.
    pub fn rollover(&self) -> bool {
        self.rollover
    }

    /// Adds a member. `join` receives the group's number, or `None` to create the group, and returns the number.
    ///
    /// # Errors
    /// Those of `join`.
    pub fn join<E>(&self, join: impl FnOnce(Option<u16>) -> Result<u16, E>) -> Result<u16, E> {
        // Locked during `join`: of two concurrent opens only one creates the group.
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
