//! What a packet socket lost, read by the BPF iterator of `why` while the trial runs: another way to the kernel than the
//! socket option that the methods ask, and one that resets nothing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::thread;
use std::time::Duration;

use capbench_host::bed::Side;
use capbench_why::{Socket, Tracing, Watch};

/// Between two looks: many of them fit into the time in which a trial waits for late frames.
const PAUSE: Duration = Duration::from_millis(50);

/// Watches the capture sockets of this process on an interface until `done`, and says how many frames they lost. The method
/// reads their counters, which resets them, when nothing has come for a while: what was seen until then is all, if the last look
/// at a socket had nothing new; else it is unknown. `ready` is told when it begins to look.
///
/// # Panics
/// Where they cannot be read.
pub fn lost_by_sockets(side: &Side, ready: SyncSender<()>, done: &AtomicBool) -> Option<u64> {
    let own = std::process::id();
    let is_own = |socket: &&Socket| socket.processes.iter().any(|process| process.pid == own);
    let watch = || {
        let mut watch = Watch::new(side.name(), Tracing::LeftOut).unwrap();
        let _ = ready.send(());
        let (mut lost, mut is_all) = (0, false);
        loop {
            let is_over = done.load(Ordering::Acquire);
            let sockets = watch.look().unwrap().sockets.here;
            let sockets: Vec<_> = sockets.iter().filter(is_own).collect();
            if sockets.iter().any(|socket| socket.at_least) {
                break;
            }
            let came = sockets.iter().map(|socket| socket.dropped.unwrap()).sum::<u64>();
            if !sockets.is_empty() {
                (lost, is_all) = (lost + came, came == 0);
            }
            if is_over {
                break;
            }
            thread::sleep(PAUSE);
        }
        is_all.then_some(lost)
    };
    side.run(watch).unwrap()
}
