//! Whether this host's CLOCK_REALTIME is synchronised, and how large its error can be: asked of PTP, then of chrony, then of the
//! kernel. The first that states an error counts; the reasons of all others are kept.
//!
//! | file | content |
//! |---|---|
//! | `ptp`, `chrony` | what their programs print |
//! | `ask` | starts these programs |

mod ask;
mod chrony;
mod ptp;

use capbench_model::clocks::{ClockState, TimeService};
use capbench_sys::host::clock::KernelClock;

pub use ask::{Answer, Ask, Programs};

/// The state of the clock.
pub fn clock_state(services: &impl Ask, kernel: KernelClock) -> ClockState {
    let mut reasons = Vec::new();
    let ptp = stated(services, ptp::COMMAND, ptp::error_ns, &mut reasons).filter(|_| {
        if !kernel.is_synchronised {
            reasons
                .push("PTP's clock is not the kernel's, which is not synchronised; phc2sys does that".into());
        }
        kernel.is_synchronised
    });
    let found = ptp
        .map(|error_ns| (TimeService::Ptp, error_ns))
        .or_else(|| {
            Some((TimeService::Chrony, stated(services, chrony::COMMAND, chrony::error_ns, &mut reasons)?))
        })
        .or_else(|| kernel.is_synchronised.then_some((TimeService::Kernel, kernel.max_error_ns)));
    if let Some((by, error_ns)) = found {
        return ClockState::Synchronised { by, error_ns };
    }
    reasons.push("its kernel says STA_UNSYNC (adjtimex); run ptp4l with phc2sys, or chronyd".into());
    ClockState::Unsynchronised { reason: reasons.join(", ") }
}

/// The error that a service states, if it is installed and follows a clock.
fn stated(
    services: &impl Ask,
    command: &[&str],
    error_ns: fn(&str) -> Result<u64, String>,
    reasons: &mut Vec<String>,
) -> Option<u64> {
    let found = match services.ask(command) {
        Answer::NotInstalled => return None,
        Answer::Failed(reason) => Err(reason),
        Answer::Printed(text) => error_ns(&text),
    };
    found.map_err(|reason| reasons.push(format!("{}: {reason}", command[0]))).ok()
}

/// Seconds as nanoseconds, rounded up. Thousandths of a nanosecond are rounding of the computation.
fn nanoseconds(seconds: f64) -> u64 {
    (seconds.abs() * 1e9 - 1e-3).ceil() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Programs that print this.
    struct Prints {
        pmc: Answer,
        chronyc: Answer,
    }

    impl Ask for Prints {
        fn ask(&self, command: &[&str]) -> Answer {
            match command[0] {
                "pmc" => self.pmc.clone(),
                "chronyc" => self.chronyc.clone(),
                other => panic!("{other}"),
            }
        }
    }

    const SYNCHRONISED: KernelClock = KernelClock { is_synchronised: true, max_error_ns: 40_000 };
    const FREE: KernelClock = KernelClock { is_synchronised: false, max_error_ns: 16_000_000_000 };

    fn chrony(leap: &str) -> Answer {
        let fields = "C0000201,192.0.2.1,2,1795000000.5,-0.000001,0.0,0.0,0.1,0.0,0.1,0.000020,0.000003,16.0";
        Answer::Printed(format!("{fields},{leap}\n"))
    }

    fn ptp(state: &str) -> Answer {
        Answer::Printed(format!(
            "\t\tportState {state}\n\t\toffsetFromMaster -25.0\n\t\tmeanPathDelay 600.0\n"
        ))
    }

    fn state(pmc: Answer, chronyc: Answer, kernel: KernelClock) -> ClockState {
        clock_state(&Prints { pmc, chronyc }, kernel)
    }

    fn synchronised(by: TimeService, error_ns: u64) -> ClockState {
        ClockState::Synchronised { by, error_ns }
    }

    #[test]
    fn the_first_service_that_follows_a_clock_states_the_error() {
        let none = || Answer::NotInstalled;
        let found = state(ptp("SLAVE"), chrony("Normal"), SYNCHRONISED);
        assert_eq!(found, synchronised(TimeService::Ptp, 625));
        let found = state(ptp("LISTENING"), chrony("Normal"), FREE);
        assert_eq!(found, synchronised(TimeService::Chrony, 1000 + 3000 + 10_000));
        assert_eq!(state(ptp("SLAVE"), chrony("Normal"), FREE), synchronised(TimeService::Chrony, 14_000));
        // A master may follow chrony, or nobody.
        assert_eq!(
            state(ptp("MASTER"), chrony("Normal"), SYNCHRONISED),
            synchronised(TimeService::Chrony, 14_000)
        );
        assert_eq!(state(ptp("MASTER"), none(), SYNCHRONISED), synchronised(TimeService::Kernel, 40_000));
        assert_eq!(state(none(), none(), SYNCHRONISED), synchronised(TimeService::Kernel, 40_000));
    }

    #[test]
    fn every_reason_is_said() {
        let refused = Answer::Failed("506 Cannot talk to daemon".into());
        for (pmc, chronyc, parts) in [
            (Answer::NotInstalled, Answer::NotInstalled, vec!["STA_UNSYNC"]),
            (ptp("SLAVE"), Answer::NotInstalled, vec!["phc2sys", "STA_UNSYNC"]),
            (
                ptp("LISTENING"),
                chrony("Not synchronised"),
                vec!["pmc: ", "LISTENING", "chronyc: ", "STA_UNSYNC"],
            ),
            (Answer::NotInstalled, refused, vec!["chronyc: 506 Cannot talk", "STA_UNSYNC"]),
        ] {
            let ClockState::Unsynchronised { reason } = state(pmc, chronyc, FREE) else {
                panic!("{parts:?}")
            };
            for part in parts {
                assert!(reason.contains(part), "{part}: {reason}");
            }
        }
    }
}
