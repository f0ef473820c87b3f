//! What kept a method from more, by where its frames were lost.

use serde::{Deserialize, Serialize};

use crate::ledger::{LostAt, Place};
use crate::trial::TrialResult;

/// Loss in a ring below this share of what was sent can have either cause: too small a ring, too slow an application.
const TOO_SLOW: f64 = 0.01;
/// Loss that is this many times as dense in its worst tenth of a second as it is on average is that of too small a ring.
const DENSE: f64 = 5.0;

/// What limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum Limit {
    /// The generator.
    Generator,
    /// The link, the NIC or its driver.
    Nic,
    /// The kernel's receive work.
    Backlog,
    /// The ring's size.
    Ring,
    /// One of the two.
    RingOrApplication,
    /// The application's speed.
    Application,
    /// A place that says nothing of the cause.
    Elsewhere {
        /// The place.
        place: Place,
    },
}

impl Limit {
    /// As it is said in sentences.
    pub fn words(self) -> String {
        match self {
            Self::Generator => "the generator".into(),
            Self::Nic => "the link, the NIC or its driver".into(),
            Self::Backlog => "the kernel's receive work: its backlog is full".into(),
            Self::Ring => "the ring: it is too small for the moments in which nobody empties it".into(),
            Self::RingOrApplication => "the ring or the application: too little is lost to tell which".into(),
            Self::Application => {
                "the application: the ring fills because frames are taken more slowly than they come".into()
            }
            Self::Elsewhere { place } => {
                format!("a place that says nothing of the cause ({})", place.words())
            }
        }
    }

    /// What limited where frames were lost at these places, most first, and so much of what was sent in the middle of these
    /// trials; `None` where no place is known.
    pub(crate) fn of<'t>(
        lost: &[LostAt],
        sent_loss_ratio: f64,
        mut trials: impl Iterator<Item = &'t TrialResult>,
    ) -> Option<Self> {
        Some(match lost.first()?.place {
            Place::Unsent => Self::Generator,
            Place::Transmit | Place::Link | Place::Driver => Self::Nic,
            Place::LinkQueue | Place::Backlog => Self::Backlog,
            place if place.is_before_application() => {
                let in_bursts = trials.any(|trial| {
                    let worst = trial.loss_shape.as_ref().map(|shape| shape.worst_ratio());
                    worst.is_some_and(|worst| worst > DENSE * trial.sent_loss_ratio())
                });
                match sent_loss_ratio < TOO_SLOW {
                    _ if in_bursts => Self::Ring,
                    true => Self::RingOrApplication,
                    false => Self::Application,
                }
            }
            place => Self::Elsewhere { place },
        })
    }
}
