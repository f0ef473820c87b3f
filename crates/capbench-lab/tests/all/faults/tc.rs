//! Faults by tc: classifiers at ingress or egress of an interface.

use capbench_host::bed::Side;
use capbench_testing::Scratch;

use super::Every;
use capbench_testing::network::{lossy, program};

/// Where the classifier stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    Ingress,
    Egress,
}

/// A classifier on an interface. Dropping it takes it off.
#[derive(Debug)]
pub struct Attached<'b> {
    side: &'b Side,
    hook: &'static str,
}

/// In front of what ends frames.
const PRIORITY: &str = "1";

/// Attaches the program of `tc_faults.bpf.c` that does `what` to every so many frames.
pub fn attach<'b>(side: &'b Side, hook: Hook, what: &str, every: Every) -> Attached<'b> {
    // tc reads objects from files only.
    let folder = Scratch::new();
    let file = folder.file("tc_faults.o");
    std::fs::write(&file, include_bytes!(concat!(env!("OUT_DIR"), "/tc_faults.bpf.o"))).unwrap();
    let hook = match hook {
        Hook::Ingress => "ingress",
        Hook::Egress => "egress",
    };
    // A bed may have the hook already, for what ends its frames behind the faults.
    tc(side, &["qdisc", "replace", "dev", side.name(), "clsact"]);
    let attached = Attached { side, hook };
    let (path, section) = (file.to_string_lossy(), format!("tc/{what}_{}", every.0));
    tc(
        side,
        &[
            "filter",
            "add",
            "dev",
            side.name(),
            hook,
            "prio",
            PRIORITY,
            "bpf",
            "da",
            "obj",
            &path,
            "sec",
            &section,
        ],
    );
    attached
}

impl Drop for Attached<'_> {
    fn drop(&mut self) {
        tc(self.side, &["filter", "del", "dev", self.side.name(), self.hook, "prio", PRIORITY]);
    }
}

fn tc(side: &Side, arguments: &[&str]) {
    let output = side.run(|| program("tc").args(arguments).output()).unwrap().unwrap();
    assert!(output.status.success(), "tc {arguments:?}: {}", lossy(&output.stderr));
}
