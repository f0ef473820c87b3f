//! What identifies a run: a UUID of version 7, so that names of files are in the order of time.

use std::fmt::Write as _;

use capbench_results::Results;
use sha2::{Digest, Sha256};
use uuid::{Builder, Uuid};

/// An identifier for a run that starts now.
pub fn new() -> String {
    Uuid::now_v7().to_string()
}

/// The identifier of a saved run: the one that it saved, or one derived from its start and its content.
///
/// # Errors
/// The saved one, if it is no UUID.
pub fn of(results: &Results) -> std::result::Result<String, String> {
    match &results.run_id {
        Some(saved) => Uuid::parse_str(saved).map(|id| id.to_string()).map_err(|_| saved.clone()),
        None => Ok(derived(results)),
    }
}

/// The identifier of a run that an older version saved. It uses only facts that a later reader finds unchanged and that a resumed
/// run keeps: command, host, and counts and times of the first trial.
fn derived(results: &Results) -> String {
    let host = &results.environment;
    let mut facts =
        format!("{:?} {:?} {:?} {}", results.command, host.kernel_version, host.cpu_model, host.memory_bytes);
    if let Some(first) = results.trials.first() {
        let (sent, delivered, method) = (first.sent, first.delivered, &first.profile.method);
        // Writing to a string does not fail.
        let _ = write!(facts, " {method} {sent} {delivered} {:?} {:?}", first.sending_s, first.drain_s);
        let _ = write!(facts, " {:?} {:?} {:?}", first.offered_pps, first.cpu.app_ns, first.cpu.total_ns);
    }
    let digest = Sha256::digest(facts);
    let mut random = [0; 10];
    random.copy_from_slice(&digest[..10]);
    let started_ms = results.started_unix_s.saturating_mul(1000);
    Builder::from_unix_timestamp_millis(started_ms, &random).into_uuid().to_string()
}

#[cfg(test)]
mod tests {
    use capbench_results::for_tests::results;

    use super::*;

    #[test]
    fn a_run_keeps_its_identifier_and_an_older_one_always_gets_the_same() {
        let older = results(Vec::new());
        let id = of(&older).unwrap();
        assert_eq!(Ok(&id), of(&older).as_ref());
        assert_eq!(Uuid::parse_str(&id).unwrap().get_version_num(), 7);
        // 1,700,000,000 s.
        assert!(id.starts_with("018bcfe5-6800-7"), "{id}");
        let later = Results { started_unix_s: older.started_unix_s + 1, ..older.clone() };
        assert!(of(&later).unwrap() > id);
        let saved = Results { run_id: Some(new()), ..older.clone() };
        assert_eq!(of(&saved).ok(), saved.run_id);
        let changed = Results { run_id: Some("../../etc/passwd".into()), ..older };
        assert_eq!(of(&changed), Err("../../etc/passwd".into()));
    }
}
