//! An account of a receiving interface that does not come from the server: captured frames, and those that the capture lost, by place.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};

use capbench_capture::Interface;
use capbench_host::bed::Side;
use capbench_lab::counting::{self, Counting, Gauges, Part, Source, Watcher};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;
use capbench_model::units::SnapLength;
use capbench_testing::network::Place;

/// A count of all frames of an interface, as `capbench count` makes it.
pub struct Account {
    ends: Arc<AtomicBool>,
    thread: JoinHandle<Part>,
}

impl Account {
    /// Returns when the capture runs.
    pub fn start(place: &Arc<Place>, interface: String) -> Self {
        let (ends, (begun, has_begun)) = (Arc::new(AtomicBool::new(false)), mpsc::channel());
        let (place, its) = (Arc::clone(place), Arc::clone(&ends));
        let thread = thread::spawn(move || {
            place.inside(|| {
                let side = Side::named(&interface).unwrap();
                let interface = Interface::new(&interface, side.index(), side.mtu());
                let options = CaptureOptions {
                    snap_length: SnapLength::new(14),
                    flow_hashes: false,
                    ..CaptureOptions::default()
                };
                let method = MethodSpec::plain("packet-v3");
                let source = Source { method: &method, interface: &interface, options: &options };
                let mut watcher = UntilQuiet { begun, ends: its, before: 0 };
                let counted = counting::count(source, &Counting::default(), &mut watcher).unwrap();
                assert!(counted.failure.is_none(), "{:?}", counted.failure);
                Part::sum(&counted.parts)
            })
        });
        has_begun.recv().unwrap();
        Self { ends, thread }
    }

    /// Ends the count with the last frame that has come: packets, and losses of the capture.
    pub fn end(self) -> [u64; 2] {
        self.ends.store(true, Ordering::Relaxed);
        let Part { all, counters, .. } = self.thread.join().unwrap();
        let lost = counters.losses.iter().map(|loss| loss.count.expect("the loss at every place is known"));
        [all.packets, lost.sum()]
    }
}

/// Counts until nothing more comes after the end was wanted.
struct UntilQuiet {
    begun: mpsc::Sender<()>,
    ends: Arc<AtomicBool>,
    before: u64,
}

impl Watcher for UntilQuiet {
    fn begin(&mut self, _: &Running) -> ControlFlow<()> {
        self.begun.send(()).unwrap();
        ControlFlow::Continue(())
    }

    fn look(&mut self, _: bool, gauges: &mut dyn Gauges) -> ControlFlow<()> {
        if !self.ends.load(Ordering::Relaxed) {
            return ControlFlow::Continue(());
        }
        let now = Part::sum(&gauges.parts().unwrap()).all.packets;
        let before = std::mem::replace(&mut self.before, now);
        if now > before { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
