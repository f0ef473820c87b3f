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
