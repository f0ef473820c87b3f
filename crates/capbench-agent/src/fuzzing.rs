//! What the fuzz targets of `fuzz/` call: an agent without a network, and a controller's readers. A unit test runs them on their
//! corpus.

use std::io::{Cursor, sink};

use capbench_frames::Pps;
use capbench_lab::live::messages::Sent;
use capbench_model::clocks::{Bounds, ClockState, FourStamps};
use capbench_model::environment::Environment;

use crate::framing;
use crate::message::{Answer, Half, Hello, HostTimes, Kind, Prepared, Reported, read};
use crate::server::stand_in::on_stand_ins;
use crate::server::{Agent, Allowed, Rules};

/// The calls of a controller.
pub fn agent(octets: &[u8]) {
    let allowed = ["send:x0", "receive:y0", "program:tcpdump"].iter().filter_map(|rule| rule.parse().ok());
    let allowed: Vec<Allowed> = allowed.collect();
    let rules = Rules { allowed, max_rate: Pps::new(1e6).ok(), ..Rules::default() };
    let agent = on_stand_ins(Agent::new(rules, Environment::default(), |_| Kind::Failed));
    let _ = agent.serve(Cursor::new(octets.to_vec()), sink());
}

/// The answers of an agent, as a controller reads them.
pub fn controller(octets: &[u8]) {
    let mut rest = octets;
    while let Ok(Some(message)) = framing::read(&mut rest) {
        let Ok(answer) = read::<Answer>(&message) else { continue };
        let result = answer.result.unwrap_or_default();
        let result = result.get().as_bytes();
        let _ = read::<Hello>(result);
        let _ = read::<Prepared>(result);
        let _ = read::<Sent>(result);
        let _ = read::<Half>(result);
        let _ = read::<Option<Reported>>(result);
        let _ = read::<ClockState>(result);
        if let Ok(times) = read::<HostTimes>(result) {
            let [received_ns, answered_ns] = times.signed_ns();
            let _ = Bounds::of(&[FourStamps { sent_ns: 1, received_ns, answered_ns, returned_ns: 1000 }]);
        }
    }
}

/// A file that an agent left for the next one of its session.
pub fn spool(octets: &[u8]) {
    std::hint::black_box(read::<Reported>(octets).is_ok());
}

/// The answers of a generator that the Open Traffic Generator API drives.
#[cfg(feature = "otg")]
pub fn generator(octets: &[u8]) {
    crate::otg::read_any(octets);
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_answered_or_refused() {
        capbench_testing::replay("agent", super::agent);
        capbench_testing::replay("controller", super::controller);
        capbench_testing::replay("spool", super::spool);
        #[cfg(feature = "otg")]
        capbench_testing::replay("generator", super::generator);
    }
}
