//! The committed files of the fuzz targets.

use std::fs;
use std::path::Path;

/// Runs a target on its files, in the order of their names.
///
/// # Panics
/// When the target has no files.
pub fn replay(target: &str, run: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let entries = fs::read_dir(folder).expect("the target has a folder");
    let mut files: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
    assert!(!files.is_empty(), "{target} has no corpus");
    files.sort();
    files.iter().for_each(|file| run(&fs::read(file).expect("the file can be read")));
}
