//! Runs a trial again whose account was lost with the connection to an agent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::Result;
use capbench_model::trial::{Load, Trial, TrialResult};

use crate::AgentError;

/// How often a trial is run whose agents are lost. Each time the agents get three chances to be reached.
const ATTEMPTS: usize = 2;

/// A trial that is repeated. The segments of a soak are not: they are one trial.
pub(super) struct Repeated<T> {
    trial: T,
    stop: Arc<AtomicBool>,
}

impl<T: Trial> Repeated<T> {
    pub(super) fn new(trial: T, stop: Arc<AtomicBool>) -> Self {
        Self { trial, stop }
    }
}

impl<T: Trial> Trial for Repeated<T> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let mut losses: Vec<String> = Vec::new();
        loop {
            match self.trial.run(load, duration) {
                Ok(mut result) => {
                    result.noise.extend(losses);
                    return Ok(result);
                }
                Err(error)
                    if AgentError::is_loss(&error)
                        && losses.len() + 1 < ATTEMPTS
                        && !self.stop.load(Ordering::Relaxed) =>
                {
                    losses.push(format!("repeated, because the account of an attempt was lost: {error}"));
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn line_rate(&self) -> Option<Pps> {
        self.trial.line_rate()
    }

    fn keep_open(&mut self) -> Result<Box<dyn Trial + '_>> {
        self.trial.keep_open()
    }
}

#[cfg(test)]
mod tests {
    use capbench_lab::LabError;
    use capbench_model::TrialError;
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::Phase;

    use super::*;

    fn trial() -> TrialResult {
        let load = Load::Rate(Pps::new(10.0).unwrap());
        measured(10, 10, 10, 0).result(1, Phase::FixedLoad, &profile("recv"), load, Duration::from_secs(1))
    }

    /// A trial that is lost so often before it succeeds.
    struct Lossy {
        losses: usize,
        runs: usize,
    }

    impl Trial for Lossy {
        fn run(&mut self, _: Load, _: Duration) -> Result<TrialResult> {
            self.runs += 1;
            if self.runs > self.losses {
                return Ok(trial());
            }
            let (location, reason) = ("ssh:gen1/eth1".into(), "the agent ended before it answered go".into());
            Err(LabError::from(AgentError::Lost { location, reason, exit_code: None }).into())
        }

        fn line_rate(&self) -> Option<Pps> {
            None
        }

        fn keep_open(&mut self) -> Result<Box<dyn Trial + '_>> {
            Err(TrialError::Unsupported { what: "a soak".into(), reason: "of a test".into() })
        }
    }

    fn run(losses: usize, stops: bool) -> (Result<TrialResult>, usize) {
        let mut repeated = Repeated::new(Lossy { losses, runs: 0 }, Arc::new(AtomicBool::new(stops)));
        let result = repeated.run(Load::Maximum, Duration::from_secs(1));
        (result, repeated.trial.runs)
    }

    #[test]
    fn a_lost_trial_is_repeated_once_and_says_so() {
        let (result, runs) = run(0, false);
        assert_eq!((result.unwrap(), runs), (trial(), 1));
        let (result, runs) = run(1, false);
        let noise = result.unwrap().noise.pop().unwrap();
        assert!(runs == 2 && noise.contains("ssh:gen1/eth1: the agent ended"), "{noise}");
        let (result, runs) = run(2, false);
        assert!(runs == 2 && result.unwrap_err().to_string().contains("ssh:gen1/eth1"));
        assert_eq!(run(1, true).1, 1, "the user wants to stop");
    }
}
