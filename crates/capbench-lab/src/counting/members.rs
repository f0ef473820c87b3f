//! A count in several threads, each with a capture, that share the frames of an interface.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::Duration;

use capbench_capture::{CaptureError, Occupancy};
use capbench_model::running::Running;

use super::limit::Limit;
use super::{Counted, Counting, Gauges, Part, Seen, Source, Watcher, count_here};

/// How often the watcher looks.
const LOOK: Duration = Duration::from_millis(20);

/// The number of a question that ends the count.
const END: u64 = u64::MAX;

/// Counts in this many threads, while this one watches them.
pub(super) fn count(
    source: Source<'_>,
    counting: &Counting,
    threads: usize,
    limit: Option<Arc<Limit>>,
    watcher: &mut dyn Watcher,
) -> Result<Counted, CaptureError> {
    // The number of the last question.
    let asked = AtomicU64::default();
    thread::scope(|scope| {
        let mut group = Group { asked: &asked, members: Vec::with_capacity(threads) };
        let mut first = None;
        for nth in 0..threads {
            let (opened, running) = channel();
            let (answers, parts) = channel();
            let (go, started) = channel();
            let (limit, asked) = (limit.clone(), group.asked);
            let work = move || {
                let mut member = Answering { opened: Some(opened), started, asked, answered: 0, answers };
                count_here(source, counting, nth, limit, &mut member)
            };
            let thread = thread::Builder::new().name(format!("member{nth}")).spawn_scoped(scope, work);
            let thread = thread.map_err(|error| CaptureError::Option {
                option: "--members",
                reason: format!("the system starts no thread for it: {error}"),
            })?;
            let Ok(running) = running.recv() else {
                joined(thread)?;
                unreachable!("a thread that opened no capture has failed");
            };
            first.get_or_insert(running);
            group.members.push(Member { thread, go, parts, last: Part::default(), fill: None });
        }
        if let Some(running) = first
            && watcher.begin(&running).is_continue()
        {
            group.watch(watcher);
        }
        group.end()
    })
}

/// In a member's thread: waits for the others, and answers the thread that watches.
struct Answering<'c> {
    opened: Option<Sender<Running>>,
    started: Receiver<()>,
    asked: &'c AtomicU64,
    answered: u64,
    answers: Sender<(Part, Option<Occupancy>)>,
}

impl Watcher for Answering<'_> {
    fn begin(&mut self, running: &Running) -> ControlFlow<()> {
        if let Some(opened) = self.opened.take() {
            let _ = opened.send(running.clone());
        }
        // Without the sender the count was given up.
        if self.started.recv().is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn look(&mut self, _: bool, gauges: &mut dyn Gauges) -> ControlFlow<()> {
        // Relaxed: the number orders no other memory.
        let asked = self.asked.load(Relaxed);
        if asked == END {
            return ControlFlow::Break(());
        }
        if asked != self.answered {
            self.answered = asked;
            // If the counters cannot be read, the count ends, and its end reports why.
            let Ok(parts) = gauges.parts() else { return ControlFlow::Break(()) };
            for part in parts {
                // Without a receiver the count was given up.
                let _ = self.answers.send((part, gauges.fill()));
            }
        }
        ControlFlow::Continue(())
    }
}

/// The members, in the thread that watches them.
struct Group<'s, 'c> {
    asked: &'c AtomicU64,
    members: Vec<Member<'s>>,
}

struct Member<'s> {
    thread: ScopedJoinHandle<'s, Result<Counted, CaptureError>>,
    go: Sender<()>,
    /// One part for each question.
    parts: Receiver<(Part, Option<Occupancy>)>,
    last: Part,
    fill: Option<Occupancy>,
}

impl Group<'_, '_> {
    fn watch(&mut self, watcher: &mut dyn Watcher) {
        for member in &self.members {
            // One that has failed waits no more.
            let _ = member.go.send(());
        }
        loop {
            // A member ends by itself when the limit is reached, and when its capture failed.
            let is_over = self.members.iter().any(|member| member.thread.is_finished());
            if watcher.look(is_over, self).is_break() || is_over {
                return;
            }
            thread::sleep(LOOK);
        }
    }

    /// Asks every member, and waits for the answers. Of a member that has ended, the last answer stays.
    fn ask(&mut self) {
        self.asked.fetch_add(1, Relaxed);
        for member in &mut self.members {
            if let Ok((part, fill)) = member.parts.recv() {
                (member.last, member.fill) = (part, fill);
            }
        }
    }

    fn end(self) -> Result<Counted, CaptureError> {
        self.asked.store(END, Relaxed);
        let mut all = Counted { parts: Vec::with_capacity(self.members.len()), seen: None, failure: None };
        for Member { thread, go, .. } in self.members {
            drop(go);
            let Counted { parts, failure, .. } = joined(thread)?;
            all.parts.extend(parts);
            all.failure = all.failure.or(failure);
        }
        Ok(all)
    }
}

impl Gauges for Group<'_, '_> {
    fn fill(&mut self) -> Option<Occupancy> {
        self.ask();
        Occupancy::fullest(self.members.iter().map(|member| member.fill))
    }

    fn parts(&mut self) -> Result<Vec<Part>, CaptureError> {
        self.ask();
        Ok(self.members.iter().map(|member| member.last.clone()).collect())
    }

    fn seen(&self) -> Option<Seen> {
        None
    }
}

fn joined(thread: ScopedJoinHandle<'_, Result<Counted, CaptureError>>) -> Result<Counted, CaptureError> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
