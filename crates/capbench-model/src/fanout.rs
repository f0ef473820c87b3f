//! Several captures that share the frames of one interface, each frame going to one of them.

use std::any::Any;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use capbench_sys::packet::{FanoutMode, FanoutProgram};

/// A group of captures, and how it shares frames. Clones refer to the same group.
///
/// The first capture opened with it creates the group. Captures opened later join it, in any thread. A group ends with its last
/// member. While members are being opened, or when one is closed, frames for the missing member go to no capture or to another one.
/// So send the frames to capture only after the whole group is open.
#[derive(Clone, Debug)]
pub struct Fanout {
    mode: FanoutMode,
    program: Option<Arc<FanoutProgram>>,
    rollover: bool,
    members: Option<NonZeroU16>,
    group: Arc<Mutex<Group>>,
}

/// Whether both are the same group. Another group with the same settings is another one.
impl PartialEq for Fanout {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.group, &other.group)
    }
}

/// What the members have in common.
#[derive(Debug, Default)]
enum Group {
    /// It does not exist yet.
    #[default]
    None,
    /// The number of a group of packet sockets (`PACKET_FANOUT`, packet(7)). The kernel chooses one that no other group of the
    /// network namespace has.
    Number(u16),
    /// What the members of other methods own together, as long as there are some.
    Owned(Weak<dyn Any + Send + Sync>),
}

impl Fanout {
    /// A group that does not exist yet.
    pub fn new(mode: FanoutMode) -> Self {
        Self { mode, program: None, rollover: false, members: None, group: Arc::default() }
    }

    /// A group that does not exist yet, in which this program chooses the members.
    pub fn by_program(program: FanoutProgram) -> Self {
        Self { program: Some(Arc::new(program)), ..Self::new(FanoutMode::Program) }
    }

    /// An existing group of packet sockets with the same mode, possibly of another program.
    pub fn existing(mode: FanoutMode, group: u16) -> Self {
        Self { group: Arc::new(Mutex::new(Group::Number(group))), ..Self::new(mode) }
    }

    /// A new group with the same settings: each group belongs to one interface.
    #[must_use]
    pub fn another(&self) -> Self {
        Self { group: Arc::default(), ..self.clone() }
    }

    /// Enables or disables rollover: a frame goes to another member when its member's ring is full. This splits flows instead
    /// of losing frames. All members must use the same setting.
    #[must_use]
    pub fn with_rollover(self, rollover: bool) -> Self {
        Self { rollover, ..self }
    }

    /// The same with the number of members that it will have: a method that cannot have as many refuses it before it is opened.
    #[must_use]
    pub fn with_members(self, members: NonZeroU16) -> Self {
        Self { members: Some(members), ..self }
    }

    /// How many members it will have, if that is known.
    pub fn members(&self) -> Option<NonZeroU16> {
        self.members
    }

    /// How a frame's member is chosen.
    pub fn mode(&self) -> FanoutMode {
        self.mode
    }

    /// The user's program that chooses it; `None`: capbench's, where the mode is [`FanoutMode::Program`].
    pub fn program(&self) -> Option<&FanoutProgram> {
        self.program.as_deref()
    }

    /// The number of a group of packet sockets, once it has a member.
    pub fn group(&self) -> Option<u16> {
        self.group.lock().unwrap_or_else(PoisonError::into_inner).number()
    }

    /// Whether a frame goes to another member when a ring is full.
    pub fn rollover(&self) -> bool {
        self.rollover
    }

    /// Adds a packet socket. `join` receives the group's number, or `None` to create the group, and returns the number.
    ///
    /// # Errors
    /// Those of `join`.
    pub fn join<E>(&self, join: impl FnOnce(Option<u16>) -> Result<u16, E>) -> Result<u16, E> {
        // Locked during `join`: of two concurrent opens only one creates the group.
        let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        let id = join(group.number())?;
        *group = Group::Number(id);
        Ok(id)
    }

    /// What all members own together. The first of them makes it, and it is dropped with the last.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn owned<T: Send + Sync + 'static, E>(
        &self,
        make: impl FnOnce() -> Result<T, E>,
    ) -> Result<Arc<T>, E> {
        // Locked during `make`, as above.
        let mut group = self.group.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match &*group {
            Group::Owned(owned) => owned.upgrade().and_then(|owned| owned.downcast().ok()),
            _ => None,
        };
        if let Some(owned) = found {
            return Ok(owned);
        }
        let made = Arc::new(make()?);
        let weak: Weak<T> = Arc::downgrade(&made);
        *group = Group::Owned(weak);
        Ok(made)
    }
}

impl Group {
    fn number(&self) -> Option<u16> {
        match self {
            Self::Number(number) => Some(*number),
            Self::None | Self::Owned(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_members_own_is_made_once_and_dropped_with_the_last() {
        let fanout = Fanout::new(FanoutMode::Queue);
        let owned = |of: &Fanout, value: u8| of.owned(|| Ok::<u8, ()>(value)).unwrap();
        let (first, second) = (owned(&fanout, 1), owned(&fanout.clone(), 2));
        assert_eq!((*first, *second, *owned(&fanout.another(), 3)), (1, 1, 3));
        drop((first, second));
        assert_eq!((*owned(&fanout, 4), fanout.group()), (4, None));
        assert_eq!(fanout.owned(|| Err::<u8, u8>(5)), Err(5));
    }
}
