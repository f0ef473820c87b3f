//! Saves the runs of a fleet on the simulated path, on which the second kernel is 3 % slower on a third of the hosts.
//!
//! Usage: `cargo run --release -p capbench-dataset --example fleet -- FOLDER HOSTS RUNS`, RUNS of each host with each kernel.

mod made;

use std::path::Path;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |word: &String| word.parse().expect("a number");
    let [folder, hosts, runs] = &words[..] else { panic!("FOLDER HOSTS RUNS") };
    made::save_all(Path::new(folder), number(hosts), number(runs));
}
