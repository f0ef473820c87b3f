//! Finds the system's library of a name like ld.so(8): the folders of `LD_LIBRARY_PATH`, the cache of ldconfig(8), the standard
//! folders.
//!
//! dlopen(3) also searches, but if the process already has a library of that name open, it returns that one, from any file.

use std::path::{Path, PathBuf};

use super::elf;
use crate::host::identity;

/// Where libraries are without any configuration: Debian's folders first, then everybody's.
const STANDARD: [&str; 4] = ["/lib64", "/usr/lib64", "/lib", "/usr/lib"];

pub(super) fn find(name: &str) -> Option<PathBuf> {
    let environment =
        std::env::var_os("LD_LIBRARY_PATH").filter(|_| !identity::is_elevated()).unwrap_or_default();
    let environment = environment.to_string_lossy().into_owned();
    let named = environment.split([':', ';']).filter(|folder| !folder.is_empty()).map(PathBuf::from);
    let cache = std::fs::read("/etc/ld.so.cache").unwrap_or_default();
    let multiarch = format!("{}-linux-gnu", std::env::consts::ARCH);
    let debian = ["/lib", "/usr/lib"].map(|folder| Path::new(folder).join(&multiarch));
    named
        .map(|folder| folder.join(name))
        .chain(cached(&cache, name).unwrap_or_default())
        .chain(debian.into_iter().chain(STANDARD.map(PathBuf::from)).map(|folder| folder.join(name)))
        // A cache lists the libraries of every machine that this one can run.
        .find(|file| elf::fault(file).is_none())
}

/// The magic number of glibc's cache (`struct cache_file_new` of its `dl-cache.h`).
const MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Length of that structure, which the entries follow.
const HEADER: usize = 48;
/// Length of `struct file_entry_new`.
const ENTRY: usize = 24;

/// The files that glibc's cache has for a name; those for special processors are left out. `None` for what is no such
/// cache, or a broken one.
fn cached(cache: &[u8], name: &str) -> Option<Vec<PathBuf>> {
    // Old caches have one of an older format in front; offsets count from where this one begins.
    let start = cache.windows(MAGIC.len()).position(|window| window == MAGIC)?;
    let cache = &cache[start..];
    let word = |at: usize| Some(u32::from_ne_bytes(cache.get(at..at + 4)?.try_into().ok()?));
    let text = |at: u32| cache.get(at as usize..)?.split(|&octet| octet == 0).next();
    let mut files = Vec::new();
    for index in 0..word(MAGIC.len())? as usize {
        let entry = HEADER + index.checked_mul(ENTRY)?;
        let is_plain = (word(entry + 16)?, word(entry + 20)?) == (0, 0);
        if is_plain && text(word(entry + 4)?)? == name.as_bytes() {
            files.push(PathBuf::from(std::str::from_utf8(text(word(entry + 8)?)?).ok()?));
        }
    }
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::{cached, find};
    use std::path::PathBuf;

    fn cache(entries: &[(&str, &str, u64)]) -> Vec<u8> {
        let strings = 48 + 24 * entries.len();
        let (mut texts, mut table) = (Vec::new(), Vec::new());
        for (name, path, processor) in entries {
            table.extend(0x303u32.to_ne_bytes());
            for part in [name, path] {
                table.extend(((strings + texts.len()) as u32).to_ne_bytes());
                texts.extend(part.bytes().chain([0]));
            }
            table.extend([0; 4]);
            table.extend(processor.to_ne_bytes());
        }
        let mut all = b"glibc-ld.so.cache1.1".to_vec();
        all.extend((entries.len() as u32).to_ne_bytes());
        all.extend((texts.len() as u32).to_ne_bytes());
        all.resize(48, 0);
        [all, table, texts].concat()
    }

    #[test]
    fn the_cache_gives_the_files_of_a_name() {
        let cache = cache(&[
            ("libx.so.2", "/usr/lib/libx.so.2", 0),
            ("libx.so.1", "/usr/lib/fast/libx.so.1", 1 << 62),
            ("libx.so.1", "/usr/lib/libx.so.1", 0),
            ("libx.so.1", "/lib32/libx.so.1", 0),
        ]);
        let expected = Some(["/usr/lib/libx.so.1", "/lib32/libx.so.1"].map(PathBuf::from).to_vec());
        assert_eq!(cached(&cache, "libx.so.1"), expected);
        let behind_another = [b"ld.so-1.7.0\0of older programs".to_vec(), cache.clone()].concat();
        assert_eq!(cached(&behind_another, "libx.so.1"), expected);
        assert_eq!(cached(&cache, "liby.so.1"), Some(Vec::new()));
        for cut in 0..cache.len() {
            let _ = cached(&cache[..cut], "libx.so.1");
        }
        assert_eq!(cached(b"no cache at all", "libx.so.1"), None);
    }

    #[test]
    fn the_file_is_the_one_that_the_loader_finds() {
        // The C library, which this process has open. /proc/self/maps names its file.
        let Some(file) = find("libc.so.6") else {
            return capbench_testing::missing("libc.so.6 (glibc)");
        };
        let file = file.canonicalize().unwrap();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        assert!(maps.contains(file.to_str().unwrap()), "{file:?}");
        assert_eq!(find("libno-such-thing.so.9"), None);
    }
}
