//! The thread that completes files: it waits until the disk has a file, and then gives the file its final name.
//!
//! The writer goes on meanwhile with the next file. While [`MOST_WAITING`] files wait for the disk, the writer waits, too: then
//! the write buffer and the ring hold what comes. The same thread lets the kernel begin early with what the writer has put
//! into the page cache, so that the wait at the end is short. sync_file_range(2) can wait for a slow disk, which the writer
//! must not.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use capbench_sys::host::filesystem;

use super::counts::Gauge;
use super::failure::Failure;
use super::keeper::{self, Keeper};
use super::pool::Pool;
use super::sink::Sink;

/// Files that may wait for the disk before the writer waits for it.
const MOST_WAITING: usize = 16;

/// A file to which nothing more is written.
#[derive(Debug)]
pub(super) struct Complete {
    pub(super) path: PathBuf,
    pub(super) sink: Box<dyn Sink>,
    /// Its packets by interface; none where it is not on a disk.
    pub(super) packets_of: Box<[u64]>,
}

/// What is done with complete files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Completion {
    /// Whether to wait until the disk has each file.
    pub(super) syncs: bool,
    /// Whether files replace older ones of the same recording on purpose (`-W`).
    pub(super) is_ring: bool,
}

/// The writer's side of it. Dropped, it waits until all files are completed.
#[derive(Debug)]
pub(super) struct Closer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    /// Something to do.
    work: Condvar,
    /// A file is completed.
    room: Condvar,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<Complete>,
    /// The file that is being completed.
    in_hand: Option<PathBuf>,
    /// A file whose pages the kernel is to begin with.
    dirty: Option<Arc<File>>,
    failure: Option<Failure>,
    is_closing: bool,
    /// The thread has panicked.
    is_gone: bool,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change below is complete before anything could panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_while(&self, is_unfit: impl Fn(&State) -> bool) -> MutexGuard<'_, State> {
        let waited = self.room.wait_while(self.lock(), |state| is_unfit(state));
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

impl Closer {
    /// Starts the thread. Where it cannot complete a file, it ends `pool`.
    ///
    /// # Errors
    /// When there is no thread.
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

    /// Completes a file, behind those before it. Waits only while too many do.
    pub(super) fn complete(&self, file: Complete) {
        let mut state = self.shared.wait_while(|state| !state.is_gone && state.waiting.len() >= MOST_WAITING);
        state.waiting.push_back(file);
        drop(state);
        self.shared.work.notify_one();
    }

    /// Waits until no file of this name is left to complete.
    pub(super) fn wait_for(&self, path: &Path) {
        drop(self.shared.wait_while(|state| {
            !state.is_gone
                && (state.in_hand.as_deref() == Some(path)
                    || state.waiting.iter().any(|file| file.path == path))
        }));
    }

    /// Lets the kernel begin to write the pages of a file. Does not wait.
    pub(super) fn write_back(&self, file: Arc<File>) {
        self.shared.lock().dirty = Some(file);
        self.shared.work.notify_one();
    }

    /// Waits until all files are completed; what failed first.
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

/// What the thread has.
struct Worker {
    shared: Arc<Shared>,
    pool: Arc<Pool>,
    gauge: Arc<Gauge>,
    completion: Completion,
    /// Removes old files, where any are.
    keeper: Option<Keeper>,
    /// When it looked for them last.
    swept: Instant,
    /// Packets of the files of a ring, by name, and whether they are known to be on the disk.
    ring: HashMap<PathBuf, (Box<[u64]>, bool)>,
}

enum Task {
    Complete(Complete),
    WriteBack(Arc<File>),
    /// Old files may have to go.
    Sweep,
    End,
}

impl Drop for Worker {
    /// After a panic nobody waits for a file to be completed any more.
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
                    // Where that fails, the sync of the file fails, too, and says it.
                    let _ = filesystem::begin_write_back(file.as_fd());
                }
                Task::Sweep => self.sweep(),
                Task::End => return,
            }
        }
    }

    fn next(&self) -> Task {
        let mut state = self.shared.lock();
        loop {
            if let Some(file) = state.waiting.pop_front() {
                state.in_hand = Some(file.path.clone());
                // There is room for one more behind it.
                self.shared.room.notify_all();
                return Task::Complete(file);
            }
            let left = self.keeper.as_ref().map(|_| keeper::INTERVAL.saturating_sub(self.swept.elapsed()));
            if left == Some(Duration::ZERO) && !state.is_closing {
                return Task::Sweep;
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

    /// Brings a file to the disk, and then gives it its final name. What is to happen to a file that is complete is done at
    /// the end of this.
    fn complete(&mut self, file: Complete) -> Result<(), Failure> {
        let Complete { mut path, mut sink, packets_of } = file;
        let medium = sink.medium();
        if let Err(source) = medium.sync() {
            self.gauge.sync_failed(&packets_of);
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
                // A file of a folder that was removed is in no folder.
                if source.kind() == io::ErrorKind::NotFound {
                    self.gauge.sync_failed(&packets_of);
                } else if self.completion.syncs {
                    self.gauge.synced(&packets_of);
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
            self.gauge.sync_failed(&packets_of);
            return Err(Failure::of_sync(&path, source));
        }
        if is_synced {
            self.gauge.synced(&packets_of);
        } else if self.completion.syncs {
            self.gauge.folder_unsynced();
        }
        if let Some(keeper) = &mut self.keeper {
            keeper.add(&path, &packets_of, is_synced);
            self.sweep();
        }
        Ok(())
    }

    /// Removes old files. Where that fails, the recording goes on, and its status says it.
    fn sweep(&mut self) {
        if let Some(keeper) = &mut self.keeper {
            if keeper.is_due() {
                self.gauge.retained(keeper.sweep(&self.gauge).err().map(|error| error.to_string()));
            }
            self.swept = Instant::now();
        }
    }

    /// A file of a ring has replaced the one that had its name before.
    fn replace(&mut self, path: PathBuf, packets_of: Box<[u64]>, is_synced: bool) {
        let Some((before, was_synced)) = self.ring.insert(path, (packets_of, is_synced)) else { return };
        self.gauge.overwritten(&before);
        if !was_synced {
            // Nobody will ask any more whether the disk has them.
            self.gauge.synced(&before);
        }
    }
}
