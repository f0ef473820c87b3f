//! A program's output goes to files in the trial's directory, so that it never waits for a reader.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Octets kept of the beginning and of the end of each stream; a program may print more.
const KEPT: u64 = 64 << 10;
/// Longest line shown in a message, in characters.
const SHOWN: usize = 240;

/// Both streams of a program.
#[derive(Debug)]
pub(super) struct Output {
    out: PathBuf,
    errors: PathBuf,
}

impl Output {
    /// Output of a run called `name`, in files of that directory.
    pub(super) fn new(directory: &Path, name: &str) -> Self {
        let file = |stream| directory.join(format!("{name}.{stream}"));
        Self { out: file("stdout"), errors: file("stderr") }
    }

    /// Files for standard output and standard error.
    pub(super) fn files(&self) -> io::Result<[File; 2]> {
        Ok([File::create(&self.out)?, File::create(&self.errors)?])
    }

    /// Octets printed so far.
    pub(super) fn octets(&self) -> u64 {
        [&self.out, &self.errors].into_iter().map(|path| path.metadata().map_or(0, |data| data.len())).sum()
    }

    /// The output so far, standard output first; of long output, the beginning and the end.
    pub(super) fn text(&self) -> String {
        let [out, errors] = [&self.out, &self.errors].map(|path| ends(path).unwrap_or_default());
        format!("{out}\n{errors}")
    }

    /// The last line, for messages: it is mostly the reason why the program ended. Standard error goes first.
    pub(super) fn last_words(&self) -> String {
        let of = |path| {
            let text = ends(path).unwrap_or_default();
            text.split(['\n', '\r']).map(str::trim).rfind(|line| !line.is_empty()).map(shortened)
        };
        match of(&self.errors).or_else(|| of(&self.out)) {
            Some(line) => format!("it said last: \"{line}\""),
            None => "it said nothing".into(),
        }
    }
}

/// Removes characters that could control a terminal.
fn shortened(line: &str) -> String {
    let clean: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    match clean.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &clean[..end]),
        None => clean,
    }
}

fn ends(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut octets = Vec::new();
    file.by_ref().take(KEPT).read_to_end(&mut octets)?;
    if length > 2 * KEPT {
        octets.extend_from_slice(b"\n");
        file.seek(SeekFrom::Start(length - KEPT))?;
    }
    file.take(KEPT).read_to_end(&mut octets)?;
    Ok(String::from_utf8_lossy(&octets).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use capbench_testing::Scratch;

    use super::{KEPT, Output};

    #[test]
    fn of_much_the_beginning_and_the_end_are_kept() {
        let directory = Scratch::new();
        let output = Output::new(&directory, "x");
        assert_eq!(output.last_words(), "it said nothing");
        let [mut out, mut errors] = output.files().unwrap();
        out.write_all(b"first\n").unwrap();
        assert_eq!(output.last_words(), "it said last: \"first\"");
        for _ in 0..KEPT {
            out.write_all(b"many\n").unwrap();
        }
        out.write_all(b"final\n").unwrap();
        let text = output.text();
        assert!(text.starts_with("first\n") && text.trim_end().ends_with("final"));
        assert!(text.len() < 3 * KEPT as usize && output.octets() > 5 * KEPT);
        errors.write_all(b"why\x1b[1m\r\n\n").unwrap();
        assert_eq!(output.last_words(), "it said last: \"why [1m\"");
    }
}
