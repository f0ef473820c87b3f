//! What the fuzz targets of `fuzz/` call: an agent without a network, and a controller's readers. A unit test runs them on their
//! corpus.

use std::io::{Cursor, sink};

use capbench_frames::Pps;
use capbench_lab::live::messages::Sent;
use capbench_model::clocks::{Bounds, ClockState, FourStamps};
use capbench_model::environment::Environment;
use serde_json::Value;

use crate::framing;
use crate::message::{Answer, Half, Hello, HostTimes, Kind, Prepared, Reported};
use crate::server::stand_in::on_stand_ins;
use crate::server::{Agent, Allowed, Rules, spool};

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
        let Ok(answer) = serde_json::from_slice::<Answer>(&message) else { continue };
        let value = || answer.result.clone().unwrap_or(Value::Null);
        let _ = serde_json::from_value::<Hello>(value());
        let _ = serde_json::from_value::<Prepared>(value());
        let _ = serde_json::from_value::<Sent>(value());
        let _ = serde_json::from_value::<Half>(value());
        let _ = serde_json::from_value::<Option<Reported>>(value());
        let _ = serde_json::from_value::<ClockState>(value());
        if let Ok(times) = serde_json::from_value::<HostTimes>(value()) {
            let [received_ns, answered_ns] = times.signed_ns();
            let _ = Bounds::of(&[FourStamps { sent_ns: 1, received_ns, answered_ns, returned_ns: 1000 }]);
        }
    }
}

/// A file that an agent left for the next one of its session.
pub fn spool(octets: &[u8]) {
    std::hint::black_box(spool::parse(octets).is_ok());
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_answered_or_refused() {
        capbench_testing::replay("agent", super::agent);
        capbench_testing::replay("controller", super::controller);
        capbench_testing::replay("spool", super::spool);
    }
}
