//! The user's filter: an expression or a program.

use std::fs::File;
use std::io;
use std::io::Read;
use std::path::Path;

use capbench_model::filter::program::{Filter, read_program};
use capbench_sys::packet::FanoutProgram;

use super::compile::{Compiler, Optimise};
use crate::{CaptureError, Interface, Result};
use capbench_model::units::SnapLength;

/// Maximum number of octets of a filter. tcpdump has no limit, and no real filter is as long.
const MOST_OCTETS: u64 = 1 << 20;

/// An expression, or a program, which needs no libpcap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilterText {
    /// An expression of pcap-filter(7). An empty one selects every frame.
    Expression(String),
    /// A program, as `tcpdump -ddd` prints it.
    Program(Filter),
}

/// A program from a file that chooses the members of a group (`--fanout bpf:FILE`), in the format of a filter's program.
///
/// # Errors
/// [`CaptureError::Option`]: as for [`FilterText::of_file`].
pub fn fanout_program_of_file(path: &Path) -> Result<FanoutProgram> {
    let octets = octets_of(path).map_err(|error| error.to_string());
    let program = octets.and_then(|octets| read_program(&text_of(&octets)?));
    let program = program.map_err(|what| CaptureError::Option {
        option: "--fanout",
        reason: format!("{}: {what}", path.display()),
    })?;
    Ok(FanoutProgram::Classic(program.into()))
}

/// As many octets of a file as a filter can have, and one more.
fn octets_of(path: &Path) -> io::Result<Vec<u8>> {
    let mut octets = Vec::new();
    File::open(path)?.take(MOST_OCTETS + 1).read_to_end(&mut octets)?;
    Ok(octets)
}

/// The text without comments, or why it is none.
fn text_of(octets: &[u8]) -> std::result::Result<String, String> {
    if octets.len() as u64 > MOST_OCTETS {
        return Err("larger than 1 MiB, which a filter cannot be".into());
    }
    let text = std::str::from_utf8(octets).map_err(|_| "it is no text in UTF-8")?;
    Ok(without_comments(text))
}

impl FilterText {
    /// A filter on the command line. A text of only numbers, in several lines or separated by commas, is a program; any other
    /// text is an expression.
    ///
    /// # Errors
    /// [`CaptureError::Option`]: an invalid program.
    pub fn of_expression(text: &str) -> Result<Self> {
        if is_program(text) {
            let program = text.parse().map_err(|reason| CaptureError::Option { option: "filter", reason });
            return program.map(Self::Program);
        }
        Ok(Self::Expression(text.trim().into()))
    }

    /// A filter from a file, as in tcpdump's `-F`: `#` begins a comment, which ends with its line.
    ///
    /// # Errors
    /// [`CaptureError::Option`]: the file cannot be read, is no text, exceeds the size of a filter, or has an invalid
    /// program.
    pub fn of_file(path: &Path) -> Result<Self> {
        let refuse = |what: String| CaptureError::Option {
            option: "-F",
            reason: format!("{}: {what}", path.display()),
        };
        let octets = octets_of(path).map_err(|error| refuse(error.to_string()))?;
        Self::of_octets(&octets).map_err(|error| match error {
            CaptureError::Option { reason, .. } => refuse(reason),
            error => error,
        })
    }

    /// The same from a file's octets.
    pub(crate) fn of_octets(octets: &[u8]) -> Result<Self> {
        let text = text_of(octets).map_err(|reason| CaptureError::Option { option: "-F", reason })?;
        Self::of_expression(&text)
    }

    /// The filter for an interface of the calling thread's namespace, with frames cut at `snap`. A program is used unchanged.
    ///
    /// # Errors
    /// As for [`Compiler::open`] and [`Compiler::compile`].
    pub fn compile(&self, interface: &Interface, snap: SnapLength, optimise: Optimise) -> Result<Filter> {
        match self {
            Self::Expression(expression) => Compiler::open(interface, snap)?.compile(expression, optimise),
            Self::Program(filter) => Ok(filter.clone()),
        }
    }
}

/// Whether a text is a program: no expression consists only of numbers.
fn is_program(text: &str) -> bool {
    let text = text.trim();
    let is_of_numbers = text.chars().all(|c| c.is_ascii_digit() || c.is_whitespace() || c == ',');
    is_of_numbers && text.contains([',', '\n'])
}

/// The text with spaces in place of comments, so that the rest keeps its place.
fn without_comments(text: &str) -> String {
    let line = |line: &str| match line.split_once('#') {
        Some((kept, comment)) => {
            let end = if comment.ends_with('\n') { "\n" } else { "" };
            let length = 1 + comment.len() - end.len();
            format!("{kept}{}{end}", " ".repeat(length))
        }
        None => line.to_string(),
    };
    text.split_inclusive('\n').map(line).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use capbench_testing::scratch_file;

    use super::{FilterText, MOST_OCTETS, is_program, without_comments};

    #[test]
    fn numbers_are_programs_and_all_else_is_an_expression() {
        assert!(is_program("1,6 0 0 262144") && is_program(" 1\n6 0 0 0\n"));
        for expression in ["", "80", "tcp", "port 80, 81", "1 = 1", "10.0.0.1", "4\nx"] {
            assert!(!is_program(expression), "{expression}");
        }
        let program = FilterText::of_expression("1,6 0 0 262144").unwrap();
        assert!(matches!(program, FilterText::Program(_)));
        let said = FilterText::of_expression("2,6 0 0 0").unwrap_err().to_string();
        assert!(said.contains("says 2"), "{said}");
        assert_eq!(FilterText::of_expression(" tcp ").unwrap(), FilterText::Expression("tcp".into()));
    }

    #[test]
    fn comments_of_a_file_become_spaces() {
        assert_eq!(without_comments("tcp # a # b\n# c\nor udp#d"), "tcp        \n   \nor udp  ");
        let file = scratch_file(b"# web\ntcp port 80 # plain\n  or tcp port 443\n");
        let read = FilterText::of_file(file.path()).unwrap();
        let FilterText::Expression(text) = read else { panic!("{read:?}") };
        assert_eq!(
            text.split_whitespace().collect::<Vec<_>>(),
            ["tcp", "port", "80", "or", "tcp", "port", "443"]
        );
        let program = scratch_file(b"# all\n1\n6 0 0 262144\n");
        assert!(matches!(FilterText::of_file(program.path()).unwrap(), FilterText::Program(_)));
    }

    #[test]
    fn a_file_that_is_no_filter_is_refused_by_its_name() {
        let large = scratch_file(&vec![b' '; MOST_OCTETS as usize + 1]);
        let binary = scratch_file(&[0xff, 0xfe]);
        let program = scratch_file(b"7\n6 0 0 0\n");
        for (file, what) in [
            (large.path(), "larger than"),
            (binary.path(), "UTF-8"),
            (program.path(), "says 7"),
            (Path::new("/nonexistent/filter"), "No such file"),
        ] {
            let said = FilterText::of_file(file).unwrap_err().to_string();
            assert!(said.contains(what) && said.contains(&*file.display().to_string()), "{said}");
        }
    }
}
