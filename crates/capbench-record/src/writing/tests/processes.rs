//! Recordings by a separate process: this test program, which runs one test. The environment names its role.

use capbench_testing::{HostLimit, Scratch, cannot_have, missing};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::super::options::{WhenFull, WriteOptions};
use super::super::output::Output;
use super::super::writer::Ending;
use super::fake::{FakeEnds, read_file, read_record};
use super::stage::put;

const PART: &str = "CAPBENCH_TEST_RECORDER";

/// No test: records without end when a test starts it for that.
#[test]
fn recorder() {
    let Ok(part) = std::env::var(PART) else { return };
    let (how, path) = part.split_once(' ').unwrap();
    let mut options = WriteOptions::new(path);
    (options.when_full, options.interfaces) = (WhenFull::Wait, 2);
    options.direct = how == "direct";
    options.compression = (how == "zstd").then_some(1);
    let mut output = match Output::open(&options, read_record, 0, &mut FakeEnds) {
        Err(error) if options.direct => return eprintln!("no direct I/O: {error}"),
        other => other.unwrap(),
    };
    let gauge = output.gauge();
    let mut has_said = false;
    for number in 0.. {
        if put(&mut output, number, number as usize % 1400, 0).is_err() {
            break;
        }
        if !has_said && number % 1000 == 0 && gauge.read().packets().written > 20_000 {
            eprintln!("recording");
            has_said = true;
        }
    }
    let recorded = output.finish(&mut FakeEnds);
    let packets = recorded.counts.packets();
    let ending = match recorded.ending {
        Ending::Failed(error) => error.to_string(),
        other => format!("{other:?}"),
    };
    eprintln!("{} {} {ending}", packets.written, packets.lost());
}

fn recorder_with(how: &str, path: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "writing::tests::processes::recorder"]);
    command.env(PART, format!("{how} {}", path.display())).stdin(Stdio::null()).stderr(Stdio::piped());
    command
}

/// Whether it does; the place may have no direct I/O.
fn wait_until_it_records(child: &mut Child) -> bool {
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert!(line == "recording\n" || line.starts_with("no direct I/O: "), "{line}");
    line == "recording\n"
}

#[test]
fn a_process_that_is_killed_leaves_whole_records() {
    let directory = Scratch::new();
    for how in ["plain", "direct", "zstd"] {
        let path = directory.file("f");
        // Its last name is for a file that is complete.
        let left = directory.file(if how == "zstd" { "f.zst.part" } else { "f.part" });
        let mut child = recorder_with(how, &path).stdout(Stdio::null()).spawn().unwrap();
        let records = wait_until_it_records(&mut child);
        child.kill().unwrap();
        child.wait().unwrap();
        if !records {
            cannot_have(HostLimit::DirectIo, format_args!("not in {}", directory.path().display()));
            continue;
        }
        let bytes = if how == "zstd" {
            // What is there of the frame, although its end is missing.
            let unpacked = Command::new("zstd").args(["-dcq"]).stdin(fs::File::open(&left).unwrap()).output();
            match unpacked {
                Ok(unpacked) => unpacked.stdout,
                Err(error) => return missing(format_args!("zstd: {error}")),
            }
        } else {
            fs::read(&left).unwrap()
        };
        assert!(!path.exists() && !directory.file("f.zst").exists());
        let contents = read_file(&bytes);
        assert!(
            contents.numbers.len() > 20_000 && contents.left_over < 1412,
            "{how}: {}",
            contents.left_over
        );
        assert!(contents.numbers.iter().zip(0..).all(|(found, number)| *found == number), "{how}");
    }
}

#[test]
fn a_pipe_that_is_closed_ends_the_recording_and_has_whole_records() {
    let mut child = recorder_with("plain", Path::new("-")).stdout(Stdio::piped()).spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut bytes = vec![0; 3 << 20];
    pipe.read_exact(&mut bytes).unwrap();
    drop(pipe);
    let said = std::io::read_to_string(child.stderr.take().unwrap()).unwrap();
    assert!(said.contains("ReaderGone\n"), "{said}");
    child.wait().unwrap();
    // The test program says first what it runs.
    let header = bytes.windows(16).position(|window| window == super::fake::HEADER).unwrap();
    let contents = read_file(&bytes[header..]);
    assert!(contents.numbers.iter().zip(0..).all(|(found, number)| *found == number));
}

#[test]
fn a_pipe_that_does_not_block_is_waited_for() {
    if let Err(error) = Command::new("python3").arg("--version").output() {
        return missing(format_args!("python3: {error}"));
    }
    // Its parent has made the pipe non-blocking.
    let script = "import os, sys\nos.set_blocking(1, False)\nos.execv(sys.argv[1], sys.argv[1:])";
    let mut command = Command::new("python3");
    command.args(["-c", script]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "--nocapture", "writing::tests::processes::recorder"]);
    command.env(PART, "plain -").stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut pipe = child.stdout.take().unwrap();
    let mut bytes = vec![0; 8 << 20];
    pipe.read_exact(&mut bytes).unwrap();
    drop(pipe);
    child.wait().unwrap();
    let header = bytes.windows(16).position(|window| window == super::fake::HEADER).unwrap();
    assert!(read_file(&bytes[header..]).numbers.len() > 1000);
}

#[test]
fn root_a_full_file_system_keeps_whole_records_and_the_next_step_is_said() {
    let directory = Scratch::new();
    for how in ["plain", "zstd"] {
        let path = directory.file("f");
        // The mount ends with the process's own mount namespace.
        let script = "mount -t tmpfs -o size=1m none \"$1\" && shift && copy=$1 && shift && \"$@\"; cp \"$copy\"* \"$OUT\"";
        let out = Scratch::new();
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
        command.arg(directory.path()).arg(&path).arg(std::env::current_exe().unwrap());
        command.args(["--exact", "--nocapture", "writing::tests::processes::recorder"]);
        command.env(PART, format!("{how} {}", path.display())).env("OUT", out.path()).stdin(Stdio::null());
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if said.contains("Operation not permitted") || said.contains("must be superuser") {
            return missing(format_args!("root, or user namespaces: {said}"));
        }
        let line =
            said.lines().find(|line| line.contains("cannot write")).unwrap_or_else(|| panic!("{said}"));
        assert!(line.contains("No space left on device") && line.contains("free space"), "{line}");
        let mut bytes = Vec::new();
        let name = out.file(if how == "zstd" { "f.zst" } else { "f" });
        std::fs::File::open(name).unwrap().read_to_end(&mut bytes).unwrap();
        if how == "zstd" {
            bytes = zstd::decode_all(&bytes[..]).unwrap();
        }
        let contents = read_file(&bytes);
        let written: usize = line.split_whitespace().next().unwrap().parse().unwrap();
        assert_eq!((contents.numbers.len(), contents.left_over), (written, 0), "{how}");
        assert!(how == "zstd" || bytes.len() > (1 << 20) - 1412, "{}", bytes.len());
    }
}
