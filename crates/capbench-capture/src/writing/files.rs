//! Opening the files of a recording.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use capbench_sys::host::filesystem::DIRECT;

use super::compress::Compressed;
use super::direct::Direct;
use super::options::WriteOptions;
use super::sink::{Descriptor, Plain, Sink};

/// Opens a file by its name.
pub(super) type Opener = Box<dyn FnMut(&Path) -> io::Result<Box<dyn Sink>> + Send>;

/// Opens what the options say.
pub(super) fn opener(options: &WriteOptions) -> Opener {
    let (direct, compression) = (options.direct, options.compression);
    let is_standard_output = options.is_standard_output();
    Box::new(move |path| {
        let medium = if is_standard_output { standard_output()? } else { create(path, direct)? };
        Ok(match compression {
            Some(level) => Box::new(Compressed::new(medium, level)?),
            None if direct => Box::new(Direct::new(medium)?),
            None => Box::new(Plain::new(medium)),
        })
    })
}

/// Not by `std::io::stdout`, which looks for the ends of lines.
fn standard_output() -> io::Result<Descriptor> {
    let file = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    Ok(Descriptor { file, is_ours: false, cached: None })
}

/// As fopen(3) with "w" does it: what there is of this name is emptied.
fn create(path: &Path, direct: bool) -> io::Result<Descriptor> {
    let mut how = OpenOptions::new();
    how.write(true).create(true).truncate(true).mode(0o666);
    if direct {
        how.custom_flags(DIRECT);
    }
    let file = how.open(path)?;
    let about = file.metadata()?;
    if direct && !about.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "direct I/O is for files on a disk"));
    }
    // The end of a file is no whole block, and nothing that is none of it may stand there for a moment.
    let cached = direct.then(|| OpenOptions::new().write(true).open(path)).transpose()?;
    Ok(Descriptor { file, is_ours: about.is_file(), cached })
}
