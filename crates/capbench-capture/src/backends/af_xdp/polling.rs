//! Busy polling: the request, and whether the kernel does it.

use capbench_sys::busy_poll::BusyPoll;

/// Requested busy polling.
#[derive(Debug)]
pub(super) struct Polling {
    asked: BusyPoll,
    found: Found,
}

/// What is known about it.
#[derive(Debug)]
enum Found {
    /// Nothing yet: older kernels learn the NAPI instance of a queue from its first frame.
    Nothing,
    Polls,
    DoesNot,
    Unknown(String),
}

impl Polling {
    pub(super) fn new(asked: BusyPoll) -> Self {
        Self { asked, found: Found::Nothing }
    }

    /// Finds out whether the kernel busy-polls. A socket needs a known NAPI instance for it; only queues with frames must
    /// have one. The arguments are the sockets' NAPI instances and the frames of each.
    pub(super) fn look(
        &mut self,
        napis: capbench_sys::Result<Vec<Option<u32>>>,
        frames: impl Iterator<Item = u64>,
    ) {
        self.found = match napis {
            Ok(napis) if napis.iter().all(Option::is_some) => Found::Polls,
            Ok(napis) => {
                let (mut seen, mut polled) = (false, true);
                for (napi, _) in napis.iter().zip(frames).filter(|(_, frames)| *frames > 0) {
                    seen = true;
                    polled &= napi.is_some();
                }
                match (seen, polled) {
                    (false, _) => Found::Nothing,
                    (true, true) => Found::Polls,
                    (true, false) => Found::DoesNot,
                }
            }
            Err(error) => Found::Unknown(error.to_string()),
        };
    }

    /// The description for the engine.
    pub(super) fn words(&self) -> String {
        let asked = format!("for {:?} with a budget of {}", self.asked.time, self.asked.budget);
        match self.found {
            Found::Nothing => format!("busy polling (asked) {asked}"),
            Found::Polls => format!("busy polling {asked}"),
            Found::DoesNot => format!("not busy-polled (asked {asked})"),
            Found::Unknown(_) => format!("busy-polled or not (asked {asked})"),
        }
    }

    /// The shortfall against the request.
    pub(super) fn shortfall(&self) -> Option<String> {
        match &self.found {
            Found::Nothing | Found::Polls => None,
            Found::DoesNot => Some(
                "it was not busy-polled: the kernel knows no NAPI instance of this interface's queues".into(),
            ),
            Found::Unknown(error) => Some(format!("whether it was busy-polled is unknown: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_sys::SysError;

    use super::*;

    #[test]
    fn what_is_said_is_what_was_found() {
        let poll = BusyPoll { time: Duration::from_micros(50), budget: 64, prefer: true };
        let said = |napis: Vec<Option<u32>>, frames: [u64; 2]| {
            let mut polling = Polling::new(poll);
            polling.look(Ok(napis), frames.into_iter());
            (polling.words(), polling.shortfall().is_some())
        };
        let asked = "for 50µs with a budget of 64";
        assert_eq!(said(vec![None, None], [0, 0]), (format!("busy polling (asked) {asked}"), false));
        assert_eq!(said(vec![Some(8), Some(9)], [0, 0]), (format!("busy polling {asked}"), false));
        assert_eq!(said(vec![None, Some(9)], [0, 5]), (format!("busy polling {asked}"), false));
        assert_eq!(said(vec![None, Some(9)], [1, 5]), (format!("not busy-polled (asked {asked})"), true));
        let mut polling = Polling::new(poll);
        polling.look(Err(SysError::argument("getsockopt", "no")), std::iter::empty());
        assert!(polling.shortfall().unwrap().contains("unknown") && polling.words().contains("or not"));
    }
}
