//! Starts the program of a time service, and reads what it prints.

use std::ffi::OsString;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a program may take.
const PATIENCE: Duration = Duration::from_secs(3);

/// Text that a program may print.
const MOST_OCTETS: u64 = 64 << 10;

/// What a program said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It printed this, and succeeded.
    Printed(String),
    /// It failed, with one line why.
    Failed(String),
    /// There is no such program.
    NotInstalled,
}

/// Starts programs.
pub trait Ask {
    /// What a program says that is started with these words, of which the first is its name.
    fn ask(&self, command: &[&str]) -> Answer;
}

/// The programs of this host: in PATH, and where those for administrators are.
#[derive(Clone, Copy, Debug, Default)]
pub struct Programs;

impl Ask for Programs {
    fn ask(&self, command: &[&str]) -> Answer {
        let mut path = std::env::var_os("PATH").unwrap_or_default();
        path.push(OsString::from(":/usr/sbin:/sbin"));
        let started = Command::new(command[0])
            .args(&command[1..])
            .env("PATH", path)
            .env("LC_ALL", "C")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        match started.and_then(finished) {
            Ok(answer) => answer,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Answer::NotInstalled,
            Err(error) => Answer::Failed(error.to_string()),
        }
    }
}

fn finished(mut process: Child) -> io::Result<Answer> {
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait()? {
            break status;
        }
        if begun.elapsed() >= PATIENCE {
            process.kill()?;
            process.wait()?;
            return Ok(Answer::Failed(format!("no answer within {PATIENCE:?}")));
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let mut text = String::new();
    if let Some(output) = process.stdout.take() {
        output.take(MOST_OCTETS).read_to_string(&mut text)?;
    }
    if status.success() {
        return Ok(Answer::Printed(text));
    }
    // chronyc says on standard output why it fails.
    let last = text.lines().rfind(|line| !line.trim().is_empty());
    Ok(Answer::Failed(last.map_or_else(|| status.to_string(), |line| line.trim().into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_prints_is_read_and_its_failure_said() {
        let ask = |command: &[&str]| Programs.ask(command);
        assert_eq!(ask(&["echo", "a", "b"]), Answer::Printed("a b\n".into()));
        assert_eq!(
            ask(&["sh", "-c", "echo 506 Cannot talk; exit 1"]),
            Answer::Failed("506 Cannot talk".into())
        );
        assert_eq!(ask(&["false"]), Answer::Failed("exit status: 1".into()));
        assert_eq!(ask(&["no-such-program-of-anybody"]), Answer::NotInstalled);
    }

    #[test]
    fn a_program_that_never_answers_is_ended() {
        let begun = Instant::now();
        assert_eq!(Programs.ask(&["sleep", "60"]), Answer::Failed("no answer within 3s".into()));
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
