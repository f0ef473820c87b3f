//! What the end-to-end tests share.

#![allow(dead_code, unused_imports, reason = "each test uses a part of it")]

pub mod management;
pub mod namespaces;
pub mod process;
pub mod recording;
pub mod results_file;
pub mod saved;
pub mod scrape;
pub mod scratch;
pub mod setting;
pub mod still;
pub mod why;

pub use capbench_testing::network::{Namespaces, PATIENCE, Place, eventually, lossy, privileges, program};
pub use management::Management;
pub use namespaces::{add_namespace, ip, processes_in, remove_namespace};
pub use process::{Ended, HOST, Running, capbench, python, run, signal};
pub use recording::{File, Recording};
pub use saved::{measured, numbers, results, saved_trials};
pub use scratch::{NOBODY, Scratch, Tmpfs};
pub use setting::Setting;
pub use still::Still;

/// A folder and two networks for a test that works on them; `None`, with the reason printed, where it has not the privileges.
pub fn test_bed() -> Option<(Scratch, Namespaces)> {
    privileges().map(|()| (Scratch::new(), Namespaces::make()))
}

/// A folder for a test that makes its own networks or beds, as [`test_bed`].
pub fn scratch_of_root() -> Option<Scratch> {
    privileges().map(|()| Scratch::new())
}

/// `capbench send` from the left end; its report.
pub fn send(spaces: &Namespaces, arguments: &str) -> serde_json::Value {
    let mut command = capbench("send -i left --json");
    let sent = run(&spaces.left, command.args(arguments.split_whitespace())).success().json();
    results_file::assert_valid_output("send", &sent);
    sent
}

/// The same; how many frames reached the right end. A host that keeps the CPU of the receive work busy loses some before it.
pub fn send_and_count(spaces: &Namespaces, arguments: &str) -> u64 {
    let before = spaces.right.received();
    send(spaces, arguments);
    spaces.right.received() - before
}
