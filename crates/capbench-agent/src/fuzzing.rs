//! What a fuzz target of `fuzz/` calls: an agent that allows nothing, on any octets. A unit test runs it on its corpus.

use std::io::{Cursor, sink};

use capbench_model::environment::Environment;

use crate::message::Kind;
use crate::server::{Agent, Rules};

/// The calls of a controller.
pub fn agent(octets: &[u8]) {
    let agent = Agent::new(Rules::default(), Environment::default(), |_| Kind::Failed);
    let _ = agent.serve(Cursor::new(octets.to_vec()), sink());
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_file_of_the_corpus_is_answered_or_refused() {
        capbench_testing::replay("agent", super::agent);
    }
}
