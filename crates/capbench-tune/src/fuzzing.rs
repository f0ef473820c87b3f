//! The fuzz target `tune_state` of `fuzz/`: reads any octets as the file of saved settings. A unit test reads its corpus.

use std::hint::black_box;

use crate::State;

/// The file of an interface's saved settings. What is read is written again, and read as the same.
pub fn tune_state(octets: &[u8]) {
    let Ok(state) = State::parse(octets) else { return };
    let written = serde_json::to_vec(&state).expect("it has been read");
    assert_eq!(State::parse(&written).as_ref(), Ok(&state));
    for saved in &state.saved {
        let value = saved.before.as_deref().unwrap_or_default();
        black_box(saved.setting.command(&state.identity.interface, value, value, None));
    }
}

#[cfg(test)]
mod tests {
    use capbench_testing::replay;

    #[test]
    fn every_file_of_the_corpus_is_read_or_refused() {
        replay("tune_state", super::tune_state);
    }
}
