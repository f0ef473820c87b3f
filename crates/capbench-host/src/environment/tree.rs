//! Small files of procfs and sysfs, below a root that tests can replace.

use std::io::Read;
use std::path::{Path, PathBuf};

use capbench_sys::host::SysfsView;

/// Larger than any of these files; a longer file is cut. The longest is `/proc/interrupts` of hosts with many CPUs.
const LONGEST: u64 = 16 << 20;

/// A tree of small files. A file that is missing, unreadable or no text is `None`: an unknown fact is no error.
pub(super) trait Tree {
    /// The text of a file without surrounding white space.
    fn text(&self, path: &str) -> Option<String>;

    /// The names in a directory, sorted.
    fn names(&self, path: &str) -> Option<Vec<String>>;

    /// The text of a file; `None` if it is empty.
    fn word(&self, path: &str) -> Option<String> {
        self.text(path).filter(|text| !text.is_empty())
    }

    /// The number in a file.
    fn number(&self, path: &str) -> Option<u64> {
        self.text(path)?.parse().ok()
    }

    /// Whether a file contains 1 (true) or 0 (false).
    fn flag(&self, path: &str) -> Option<bool> {
        match self.text(path)?.as_str() {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        }
    }
}

/// A directory with the tree.
#[derive(Debug)]
pub(super) struct Directory(PathBuf);

impl Directory {
    /// The host's root, which contains `proc` and `sys`.
    pub(super) fn of_host() -> Self {
        Self::new("/")
    }

    /// Another root.
    pub(super) fn new(root: impl AsRef<Path>) -> Self {
        Self(root.as_ref().into())
    }
}

impl Tree for Directory {
    fn text(&self, path: &str) -> Option<String> {
        let mut octets = Vec::new();
        std::fs::File::open(self.0.join(path)).ok()?.take(LONGEST).read_to_end(&mut octets).ok()?;
        Some(String::from_utf8_lossy(&octets).trim_matches(['\0', '\n', ' ', '\t']).to_owned())
    }

    fn names(&self, path: &str) -> Option<Vec<String>> {
        let entries = std::fs::read_dir(self.0.join(path)).ok()?;
        let mut names: Vec<String> = entries
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        names.sort_unstable();
        Some(names)
    }
}

/// The sysfs of one network namespace.
impl Tree for SysfsView {
    fn text(&self, path: &str) -> Option<String> {
        self.read(path).ok()
    }

    fn names(&self, path: &str) -> Option<Vec<String>> {
        self.list(path).ok()
    }
}

/// The bracketed word of a file that lists choices, such as `[none] voluntary full` or `always [madvise] never`.
pub(super) fn chosen(list: &str) -> Option<String> {
    // Debugfs marks the scheduler's preemption by parentheses.
    list.split_whitespace().find_map(|word| {
        let inside = word.strip_prefix('[').and_then(|word| word.strip_suffix(']'));
        inside.or_else(|| word.strip_prefix('(')?.strip_suffix(')')).map(str::to_owned)
    })
}

/// CPUs in the kernel's notation: `0-3,8`.
pub(super) fn cpu_list(cpus: impl IntoIterator<Item = u32>) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for cpu in cpus {
        match ranges.last_mut() {
            Some((_, last)) if cpu.checked_sub(1) == Some(*last) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let words = ranges.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(",")
}

/// A tree of files for tests.
#[cfg(test)]
pub mod tests {
    use capbench_testing::Scratch;
    use proptest::prelude::*;

    use super::*;

    /// A tree made for a test; gone when it is dropped.
    pub(in crate::environment) struct Made(
        Directory,
        #[expect(dead_code, reason = "it goes with the tree")] Scratch,
    );

    impl Made {
        /// Files with their texts.
        pub(in crate::environment) fn of(files: &[(&str, &str)]) -> Self {
            let folder = Scratch::new();
            let root = folder.file("tree");
            for (path, text) in files {
                let file = root.join(path);
                std::fs::create_dir_all(file.parent().unwrap()).unwrap();
                std::fs::write(file, text).unwrap();
            }
            Self(Directory(root), folder)
        }
    }

    impl std::ops::Deref for Made {
        type Target = Directory;

        fn deref(&self) -> &Directory {
            &self.0
        }
    }

    #[test]
    fn missing_files_are_unknown_and_empty_files_say_nothing() {
        let tree = Made::of(&[("a/one", "1\n"), ("a/none", "\n"), ("a/odd", "x")]);
        assert_eq!((tree.flag("a/one"), tree.flag("a/odd"), tree.flag("a/two")), (Some(true), None, None));
        assert_eq!((tree.number("a/one"), tree.number("a/odd")), (Some(1), None));
        assert_eq!((tree.text("a/none").as_deref(), tree.word("a/none")), (Some(""), None));
        assert_eq!(tree.names("a").unwrap(), ["none", "odd", "one"]);
        assert_eq!((tree.names("b"), tree.text("a")), (None, None));
    }

    #[test]
    fn the_word_in_brackets_is_the_chosen_one() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("none voluntary (full)").as_deref(), Some("full"));
        assert_eq!(chosen("never"), None);
    }

    #[test]
    fn lists_of_cpus_are_short() {
        assert_eq!(cpu_list([0, 1, 2, 8]), "0-2,8");
        assert_eq!(cpu_list([5]), "5");
        assert_eq!(cpu_list([]), "");
    }

    proptest! {
        #[test]
        fn a_list_of_cpus_is_read_as_it_was_written(cpus in proptest::collection::btree_set(0u32..300, 1..40)) {
            let read = capbench_sys::host::affinity::parse_cpu_list(&cpu_list(cpus.iter().copied())).unwrap();
            let read: Vec<u32> = read.into_iter().map(|cpu| cpu.number()).collect();
            prop_assert_eq!(read, cpus.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn no_text_makes_the_choice_panic(text in "[\\[\\]() a-z]{0,40}") {
            let _ = chosen(&text);
        }
    }
}
