//! Opens the files of a recording.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use capbench_sys::host::filesystem::open_pipe;
use capbench_sys::host::identity;

use super::descriptor::Descriptor;
use super::failure::Refused;
use super::options::WriteOptions;
use super::part::{Making, PartFile};
use super::sink::{Medium, Sink};

/// A new file, and its future name.
pub(super) struct Opened {
    pub(super) path: PathBuf,
    pub(super) sink: Sink,
}

pub(super) type Opener = Box<dyn FnMut(&Path) -> io::Result<Opened> + Send>;

pub(super) fn opener(options: &WriteOptions) -> Opener {
    let WriteOptions { direct, compression, syncs, .. } = *options;
    let is_standard_output = options.is_standard_output();
    let mut names = Names::new(options);
    Box::new(move |path| {
        let (path, mut medium) = if is_standard_output {
            (path.into(), Descriptor::new(standard_output()?, None, syncs)?)
        } else if let Some(file) = existing(path)? {
            if direct {
                return Err(io::Error::new(ErrorKind::InvalidInput, "direct I/O is for files on a disk"));
            }
            (path.into(), Descriptor::new(file, None, syncs)?)
        } else {
            let (path, file, part) = names.create(path)?;
            (path, Descriptor::new(file, Some(part), syncs)?)
        };
        if direct && let Err(error) = medium.make_direct() {
            let _ = medium.discard();
            return Err(error);
        }
        let sink = match compression {
            Some(level) => Sink::compressed(medium, level)?,
            None if direct => Sink::direct(medium)?,
            None => Sink::plain(medium),
        };
        Ok(Opened { path, sink })
    })
}

/// Not `std::io::stdout`, which buffers by line.
fn standard_output() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

/// Opens an existing pipe or device of this name, or a link to one such as `/dev/stdout`; `None` for anything else.
/// Errors: A pipe without a reader. A link that another user created.
fn existing(path: &Path) -> io::Result<Option<File>> {
    let found = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let is_link = found.is_symlink();
    let target = if is_link { fs::metadata(path).ok() } else { Some(found.clone()) };
    let Some(target) = target.filter(|target| !target.is_file() && !target.is_dir()) else { return Ok(None) };
    if is_link && ![0, identity::effective().uid].contains(&found.uid()) {
        let reason = format!("it is a symbolic link of user {}", found.uid());
        return Err(Refused { reason, next: "name the file itself, or - for standard output" }.into());
    }
    match open_pipe(path)? {
        Some(file) if file.metadata()?.ino() == target.ino() => Ok(Some(file)),
        Some(_) => Err(Refused { reason: "it was exchanged".into(), next: "try again" }.into()),
        None => {
            let next = "start what reads it first, such as: wireshark -k -i NAME";
            Err(Refused { reason: "nobody reads it".into(), next }.into())
        }
    }
}

/// Names of new files.
struct Names {
    making: Making,
    /// Whether a file of the same name is replaced. Otherwise the new one gets a number.
    replaces: bool,
    /// The name of the newest file without its number, and that number: the next file of this name gets a higher one.
    last: Option<(PathBuf, u64)>,
}

impl Names {
    fn new(options: &WriteOptions) -> Self {
        Self { making: options.making(), replaces: options.rotation.seconds.is_none(), last: None }
    }

    fn create(&mut self, path: &Path) -> io::Result<(PathBuf, File, PartFile)> {
        let last = self.last.take().filter(|(name, _)| name == path);
        let number = (!self.replaces).then(|| last.map_or(0, |(_, number)| number + 1));
        let (file, part) = PartFile::create(path, number, &self.making)?;
        self.last = Some((path.into(), part.number()));
        Ok((path.with_file_name(part.wanted()), file, part))
    }
}
