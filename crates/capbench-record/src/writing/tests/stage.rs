//! Memory that plays files, pipes and full disks.

use capbench_model::units::ByteCount;
use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};

use super::super::buffer::Origin;
use super::super::files::{Opened, Opener};
use super::super::options::WriteOptions;
use super::super::output::Output;
use super::super::pool::NoRoom;
use super::super::sink::{Medium, Sink};
use super::fake::{self, FakeEnds, read_record};

/// What files are written by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Plain,
    Direct,
    Zstd,
}

pub(super) const ALL: [By; 3] = [By::Plain, By::Direct, By::Zstd];

/// Files in memory, which any thread may look at.
#[derive(Clone, Debug, Default)]
pub(super) struct Stage(Arc<(Mutex<State>, Condvar)>);

#[derive(Debug, Default)]
pub(super) struct State {
    pub(super) files: Vec<(PathBuf, Vec<u8>)>,
    /// Bytes that there is still room for, and what is said when there is none.
    pub(super) room: Option<(usize, ErrorKind)>,
    /// Whether writes wait.
    is_blocked: bool,
    /// Whether syncs wait.
    pub(super) is_disk_busy: bool,
    /// What the disk says of files with these names when they are synced.
    pub(super) bad: Vec<(PathBuf, ErrorKind)>,
    /// Whether the folder cannot be synced.
    pub(super) is_folder_unreadable: bool,
    /// Files that have their final names, in the order in which they got them.
    pub(super) published: Vec<PathBuf>,
    calls: usize,
}

impl Stage {
    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap()
    }

    /// Makes writes wait until what this returns is dropped.
    pub(super) fn block(&self) -> Blocked {
        self.lock().is_blocked = true;
        Blocked(self.clone())
    }

    /// The same for syncs.
    pub(super) fn make_disk_busy(&self) -> Blocked {
        self.lock().is_disk_busy = true;
        Blocked(self.clone())
    }

    pub(super) fn opener(&self, by: By) -> Opener {
        let stage = self.clone();
        Box::new(move |path: &Path| {
            let mut state = stage.lock();
            // A name that is used again means the newer file, as in a directory.
            state.files.retain(|(name, _)| name != path);
            state.files.push((path.into(), Vec::new()));
            drop(state);
            let file =
                MemoryFile { stage: stage.clone(), path: path.into(), at: 0, is_aligned: by == By::Direct };
            let sink = match by {
                By::Plain => Sink::plain(file),
                By::Direct => Sink::direct(file)?,
                By::Zstd => Sink::compressed(file, 1)?,
            };
            Ok(Opened { path: path.into(), sink })
        })
    }

    /// The files as their readers see them, in the order in which they were begun.
    pub(super) fn contents(&self, by: By) -> Vec<(PathBuf, fake::Contents)> {
        let read = |bytes: &[u8]| match by {
            By::Zstd => fake::read_file(&zstd::decode_all(bytes).unwrap()),
            By::Plain | By::Direct => fake::read_file(bytes),
        };
        self.lock().files.iter().map(|(path, bytes)| (path.clone(), read(bytes))).collect()
    }
}

/// Writes or syncs wait.
#[derive(Debug)]
pub(super) struct Blocked(Stage);

impl Drop for Blocked {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        (state.is_blocked, state.is_disk_busy) = (false, false);
        drop(state);
        self.0.0.1.notify_all();
    }
}

/// One file; it takes bytes in odd pieces, and is interrupted now and then.
#[derive(Debug)]
struct MemoryFile {
    stage: Stage,
    path: PathBuf,
    at: usize,
    is_aligned: bool,
}

impl MemoryFile {
    fn with<T>(&self, change: impl FnOnce(&mut Vec<u8>) -> T) -> T {
        let mut state = self.stage.lock();
        change(&mut state.files.iter_mut().find(|(path, _)| *path == self.path).unwrap().1)
    }
}

fn place(file: &mut Vec<u8>, bytes: &[u8], at: usize) {
    file.resize(file.len().max(at + bytes.len()), 0);
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

impl Write for MemoryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut state = self.stage.lock();
        while state.is_blocked {
            state = self.stage.0.1.wait(state).unwrap();
        }
        state.calls += 1;
        let mut written = match state.calls % 5 {
            1 => return Err(ErrorKind::Interrupted.into()),
            2 if !self.is_aligned => return Err(ErrorKind::WouldBlock.into()),
            3 => bytes.len().div_ceil(3),
            _ => bytes.len(),
        };
        if self.is_aligned {
            assert_eq!((bytes.as_ptr() as usize % 4096, bytes.len() % 4096, self.at % 4096), (0, 0, 0));
            written = written.next_multiple_of(4096);
        }
        if let Some((room, says)) = &mut state.room {
            written = written.min(if self.is_aligned { *room / 4096 * 4096 } else { *room });
            if written == 0 && !bytes.is_empty() {
                return Err((*says).into());
            }
            *room -= written;
        }
        drop(state);
        self.with(|file| place(file, &bytes[..written], self.at));
        self.at += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Medium for MemoryFile {
    fn wait(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn cut(&mut self, length: u64) -> io::Result<bool> {
        self.with(|file| file.resize(length as usize, 0));
        Ok(true)
    }

    fn put_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let state = self.stage.lock();
        if let Some((room, says)) = &state.room
            && self.is_aligned
            && *room < bytes.len()
        {
            return Err((*says).into());
        }
        drop(state);
        self.with(|file| place(file, bytes, offset as usize));
        Ok(())
    }

    fn has_disk(&self) -> bool {
        true
    }

    fn dirty(&self) -> Option<Arc<std::fs::File>> {
        None
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.stage.lock();
        while state.is_disk_busy {
            state = self.stage.0.1.wait(state).unwrap();
        }
        let bad = state.bad.iter().find(|(path, _)| *path == self.path);
        bad.map_or(Ok(()), |(_, says)| Err((*says).into()))
    }

    fn publish(&mut self) -> io::Result<Option<OsString>> {
        self.stage.lock().published.push(self.path.clone());
        Ok(None)
    }

    fn sync_name(&mut self) -> io::Result<bool> {
        Ok(!self.stage.lock().is_folder_unreadable)
    }

    fn discard(&mut self) -> io::Result<bool> {
        self.stage.lock().files.retain(|(path, _)| *path != self.path);
        Ok(true)
    }
}

/// A recording into memory, with small buffers.
pub(super) fn open(stage: &Stage, by: By, change: impl FnOnce(&mut WriteOptions)) -> Output {
    let mut options = WriteOptions::new("f");
    (options.pool, options.buffer, options.interfaces) = (ByteCount(64 << 10), ByteCount(8 << 10), 2);
    (options.direct, options.compression) = (by == By::Direct, (by == By::Zstd).then_some(1));
    change(&mut options);
    Output::open_with(&options, stage.opener(by), read_record, 0, &mut FakeEnds).unwrap()
}

/// Records a packet of this number.
pub(super) fn put(output: &mut Output, number: u32, fill: usize, time_ns: u64) -> Result<(), NoRoom> {
    let origin = Origin { interface: number % 2, time_ns };
    let bytes = fake::record(number, origin.interface, fill);
    output.packet(origin, &mut FakeEnds, |room: &mut [u8]| {
        room.get_mut(..bytes.len())?.copy_from_slice(&bytes);
        Some(bytes.len())
    })
}
