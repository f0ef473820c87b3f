//! `capbench why` as a test watches with it.

use serde_json::Value;

use super::process::{Running, capbench, run};
use capbench_testing::network::{Namespaces, Place};

/// `capbench why` that runs at an interface until it is interrupted.
pub struct Watching(Running);

impl Watching {
    /// Starts it; returns when it has looked once.
    pub fn start(place: &Place) -> Self {
        let mut why = Running::start(place, capbench("").args(["why", "-i", place.interface]));
        why.wait_for("arrive");
        Self(why)
    }

    /// Waits for a line that contains this.
    pub fn wait_for(&mut self, part: &str) {
        self.0.wait_for(part);
    }

    /// Interrupts it; all that it says about the whole time, in one line without the breaks of a page.
    pub fn end(self) -> String {
        self.0.signal("INT");
        let out = self.0.end().success().out;
        // Commands are not broken.
        let may_be_long = |line: &str| line.contains(" packets/s  ") || line.starts_with("  do:");
        assert!(out.lines().all(|line| line.chars().count() <= 80 || may_be_long(line)), "{out}");
        let (_, overall) = out.split_once("\n\n").unwrap();
        overall.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

/// One look at the interface of a place.
pub fn look(place: &Place) -> Value {
    run(place, capbench("").args(["why", "-i", place.interface, "--once", "--for", "100ms", "--json"]))
        .success()
        .json()
}

/// The socket of a process in a list of a look, `here` or `elsewhere`.
pub fn socket_of<'l>(look: &'l Value, list: &str, pid: u32) -> &'l Value {
    let sockets = look["sockets"][list].as_array().unwrap();
    let is_its =
        |socket: &&Value| socket["processes"].as_array().unwrap().iter().any(|process| process["pid"] == pid);
    sockets.iter().find(is_its).unwrap_or_else(|| panic!("no socket of {pid} {list}: {look:#}"))
}

/// The number in front of some words.
pub fn number_before(text: &str, words: &str) -> u64 {
    let line = text.lines().find(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {text}"));
    line.split_whitespace().next().unwrap().parse().unwrap()
}
