//! The thread that completes files: it syncs a file to the disk, then gives it its final name.
//!
//! The writer continues with the next file meanwhile. If [`MOST_WAITING`] files wait for the disk, the writer waits, too: the
//! write buffer and the ring then hold new packets. The same thread starts early writeback of the page cache, so that the final
//! sync is short. sync_file_range(2) can block on a slow disk, and the writer must not block.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use capbench_sys::host::filesystem;

use super::counts::Gauge;
use super::failure::Failure;
use super::keeper::{self, Keeper};
use super::pool::Pool;
use super::sink::Sink;

/// Maximum number of files that wait for the disk before the writer waits, too.
const MOST_WAITING: usize = 16;

/// A file that is written completely.
#[derive(Debug)]
pub(super) struct Complete {
    pub(super) path: PathBuf,
    pub(super) sink: Sink,
    /// Its packets by interface; empty if it is not on a disk.
    pub(super) packets_of: Box<[u64]>,
}

/// Options for complete files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    /// Whether to sync each file to the disk.
    pub(super) syncs: bool,
    /// Whether files replace older files of the same recording intentionally (`-W`).
    pub(super) is_ring: bool,
}

/// The writer's handle. Dropping it waits until all files are complete.
#[derive(Debug)]
pub(super) struct Closer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Signals work for the thread.
    work: Condvar,
    /// Signals that a file is complete.
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Complete>,
    /// The file in progress.
    in_hand: Option<PathBuf>,
    /// A file whose writeback should start.
    dirty: Option<Arc<File>>,
    failure: Option<Failure>,
    /// Whether the writer has a file open.
    has_open_file: bool,
    /// Whether it has opened one since the last sweep.
    has_begun: bool,
    is_closing: bool,
    /// The thread has panicked.
    is_gone: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change below is complete before a panic is possible.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, is_unfit: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.room.wait_while(self.lock(), |state| is_unfit(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Closer {
    /// Starts the thread. If it cannot complete a file, it ends `pool`.
    pub(super) fn start(
        pool: Arc<Pool>,
        gauge: Arc<Gauge>,
        completion: Completion,
        keeper: Option<Keeper>,
    ) -> io::Result<Self> {
        let shared = Arc::<Shared>::default();
        let worker = Worker {
            shared: Arc::clone(&shared),
            pool,
            gauge,
            completion,
            keeper,
            swept: Instant::now(),
            ring: HashMap::new(),
        };
        let thread = thread::Builder::new().name("closer".into()).spawn(|| worker.run())?;
        Ok(Self { shared, thread: Some(thread) })
    }

    /// Queues a file for completion. Waits only if too many files are queued.
    pub(super) fn complete(&self, file: Complete) {
        let mut state = self.shared.wait_while(|state| !state.is_gone && state.waiting.len() >= MOST_WAITING);
        state.waiting.push_back(file);
        state.has_open_file = false;
        drop(state);
        self.shared.work.notify_one();
    }

    /// Notes that the writer has opened a file, which counts among those that are kept.
    pub(super) fn begin(&self) {
        let mut state = self.shared.lock();
        (state.has_open_file, state.has_begun) = (true, true);
        drop(state);
        self.shared.work.notify_one();
    }

    /// Waits until no file of this name is queued.
    pub(super) fn wait_for(&self, path: &Path) {
        drop(self.shared.wait_while(|state| {
            !state.is_gone
                && (state.in_hand.as_deref() == Some(path)
                    || state.waiting.iter().any(|file| file.path == path))
        }));
    }

    /// Starts writeback of a file's pages. Does not wait.
    pub(super) fn write_back(&self, file: Arc<File>) {
        self.shared.lock().dirty = Some(file);
        self.shared.work.notify_one();
    }

    /// Waits until all files are complete. Returns the first failure.
    pub(super) fn finish(&mut self) -> Option<Failure> {
        self.shared.lock().is_closing = true;
        self.shared.work.notify_one();
        if let Some(Err(panic)) = self.thread.take().map(JoinHandle::join)
            && !thread::panicking()
        {
            std::panic::resume_unwind(panic);
        }
        self.shared.lock().failure.take()
    }
}

impl Drop for Closer {
    fn drop(&mut self) {
        self.finish();
    }
}

/// State of the thread.
struct Worker {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
    gauge: Arc<Gauge>,
    completion: Completion,
    /// Removes old files, if retention is set.
    keeper: Option<Keeper>,
    /// Time of the last sweep for old files.
    swept: Instant,
    /// Packets of the files of a ring by name, and whether they are known to be on the disk.
    ring: HashMap<PathBuf, (Box<[u64]>, bool)>,
}

enum Task {
    Complete(Complete),
    WriteBack(Arc<File>),
    /// Check whether old files must be removed, because a file was opened or some time has passed.
    Sweep {
        has_begun: bool,
    },
    End,
}

impl Drop for Worker {
    /// After a panic, no thread waits for files any more.
    fn drop(&mut self) {
        if thread::panicking() {
            self.shared.lock().is_gone = true;
            self.shared.room.notify_all();
            self.pool.abort();
        }
    }
}

impl Worker {
    fn run(mut self) {
        loop {
            match self.next() {
                Task::Complete(file) => {
                    let failure = self.complete(file).err();
                    let mut state = self.shared.lock();
                    state.in_hand = None;
                    let has_failed = failure.is_some();
                    state.failure = state.failure.take().or(failure);
                    drop(state);
                    self.shared.room.notify_all();
                    if has_failed {
                        self.pool.abort();
                    }
                }
                Task::WriteBack(file) => {
                    // If this fails, the sync of the file fails, too, and reports the error.
                    let _ = filesystem::begin_write_back(file.as_fd());
                }
                Task::Sweep { has_begun } => {
                    if let Some(keeper) = self.keeper.as_mut().filter(|_| has_begun) {
                        keeper.note_new_file();
                    }
                    self.sweep();
                }
                Task::End => return,
            }
        }
    }

    fn next(&self) -> Task {
        let mut state = self.shared.lock();
        loop {
            if let Some(file) = state.waiting.pop_front() {
                state.in_hand = Some(file.path.clone());
                // There is room for one more file in the queue.
                self.shared.room.notify_all();
                return Task::Complete(file);
            }
            let left = self.keeper.as_ref().map(|_| keeper::INTERVAL.saturating_sub(self.swept.elapsed()));
            let has_begun = std::mem::take(&mut state.has_begun);
            if left.is_some() && !state.is_closing && (has_begun || left == Some(Duration::ZERO)) {
                return Task::Sweep { has_begun };
            }
            match (state.dirty.take(), left) {
                (Some(file), _) => return Task::WriteBack(file),
                (None, _) if state.is_closing => return Task::End,
                (None, None) => {
                    state = self.shared.work.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                (None, Some(left)) => {
                    let waited = self.shared.work.wait_timeout(state, left);
                    state = waited.unwrap_or_else(PoisonError::into_inner).0;
                }
            }
        }
    }

    /// Syncs a file, then gives it its final name. Actions for a complete file belong at the end of this function.
    fn complete(&mut self, file: Complete) -> Result<(), Failure> {
        let Complete { mut path, mut sink, packets_of } = file;
        let medium = sink.medium();
        if let Err(source) = medium.sync() {
            self.gauge.count(&packets_of, |of| &of.sync_failed);
            return Err(Failure::of_sync(&path, source));
        }
        match medium.publish() {
            Ok(Some(name)) => {
                let published = path.with_file_name(name);
                self.gauge.file_published(&path, &published);
                path = published;
            }
            Ok(None) => {}
            Err(source) => {
                // The folder was removed, and the file with it.
                if source.kind() == io::ErrorKind::NotFound {
                    self.gauge.count(&packets_of, |of| &of.sync_failed);
                } else if self.completion.syncs {
                    self.gauge.count(&packets_of, |of| &of.synced);
                }
                return Err(Failure::of("give the final name to", &path)(source));
            }
        }
        let synced_name = medium.sync_name();
        let is_synced = self.completion.syncs && *synced_name.as_ref().unwrap_or(&true);
        if self.completion.is_ring {
            self.replace(path.clone(), packets_of.clone(), is_synced);
        }
        if let Err(source) = synced_name {
            self.gauge.count(&packets_of, |of| &of.sync_failed);
            return Err(Failure::of_sync(&path, source));
        }
        if is_synced {
            self.gauge.count(&packets_of, |of| &of.synced);
        } else if self.completion.syncs {
            self.gauge.is_folder_unsynced.store(true, Relaxed);
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.add(&path, &packets_of, is_synced);
            self.sweep();
        }
        Ok(())
    }

    /// Removes old files. If that fails, the recording continues, and its status reports the failure.
    fn sweep(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            if keeper.is_due() {
                let open = u64::from(self.shared.lock().has_open_file);
                self.gauge.retained(keeper.sweep(&self.gauge, open).err().map(|error| error.to_string()));
            }
            self.swept = Instant::now();
        }
    }

    /// Notes that a file of a ring has replaced the previous file of its name.
    fn replace(&mut self, path: PathBuf, packets_of: Box<[u64]>, is_synced: bool) {
        let Some((before, was_synced)) = self.ring.insert(path, (packets_of, is_synced)) else { return };
        self.gauge.count(&before, |of| &of.overwritten);
        if !was_synced {
            // Nobody asks later whether the disk has these packets.
            self.gauge.count(&before, |of| &of.synced);
        }
    }
}
