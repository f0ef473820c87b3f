//! The words of `Noise`: why a trial is noisy. In each sentence "its" means the trial's.

use std::time::Duration;

use capbench_model::noise::{CountOfProgram, Noise, ProgramNote};

/// A reason in words, without a capital letter and a full stop.
pub fn words(noise: &Noise) -> String {
    match noise {
        Noise::GeneratorsAbsent { absent, all, reasons } => {
            format!("{absent} of {all} generators took no part, as --tolerate allows: {}", reasons.join("; "))
        }
        Noise::KernelElsewhere => {
            "another CPU than the placement's received packets, of this trial or of the host".into()
        }
        Noise::LeftInTransmitRing => "frames were left in the transmit ring at its end".into(),
        Noise::KernelWorkInApplicationTime => {
            "its application time includes receive work of the kernel, which cannot be distinguished here"
                .into()
        }
        Noise::UnevenStart => "its generators began more than 1 % of its time apart".into(),
        Noise::SlowCpu => {
            "one of its CPUs ran slower than its best: it shares its core, or its clock was lowered".into()
        }
        Noise::SharedCore => {
            "one of its CPUs ran slower than its best: another guest or hardware thread used its core".into()
        }
        Noise::LoweredClock => "one of its CPUs ran slower than its best: its clock was lowered".into(),
        Noise::Stall => "one of its CPUs stalled for longer than the backlog lasts".into(),
        Noise::ForeignLoad => "other work ran on its CPUs (foreign load)".into(),
        Noise::ForeignLoadOnSharedCpu => {
            "other work than the trial's kept its CPU busy, so its cost is unknown".into()
        }
        Noise::Paused { counters } => format!(
            "pause frames made a sender wait where frames would have been lost ({})",
            counters.join(", ")
        ),
        Noise::Suspend => "the host was suspended while it ran".into(),
        Noise::ClockSpeed => "the host's clock ran at another speed than its hardware".into(),
        Noise::ClockSet => "the host's clock was set while it ran".into(),
        Noise::KeptBack { packets, counter } => format!(
            "the hypervisor kept back or dropped {packets} packets, of this trial or of the host ({counter})"
        ),
        Noise::Steal => "the hypervisor took CPU time away while it ran (steal)".into(),
        Noise::Throttled => "the CPU quota of its control group stopped capbench while it ran".into(),
        Noise::MissedByTracer => {
            "the kernel kept some receive softirqs of its CPU from the tracer (kernel.softirqs_net_rx less \
             kernel.net_rx_runs), so that the kernel's time is too low, and drops in them were not seen"
                .into()
        }
        Noise::ConnectionLost { location } => format!(
            "{location}: the connection was lost after sending; CPU times include the wait for its report"
        ),
        Noise::ForeignFramesSent { location, frames } => {
            format!("{location}: the port sent {frames} frames more than the trial has")
        }
        Noise::GeneratorWarning { location, warning } => format!("{location}: {warning}"),
        Noise::Program { program, note } => program_words(program, note),
        Noise::Shortfall { words } => words.clone(),
        Noise::Invalid { because } => because.clone(),
        Noise::Earlier { text, .. } => text.clone(),
    }
}

/// Several reasons in words.
pub(crate) fn joined(reasons: &[Noise]) -> String {
    let all: Vec<String> = reasons.iter().map(words).collect();
    all.join("; ")
}

/// What a program did.
fn program_words(name: &str, note: &ProgramNote) -> String {
    match note {
        ProgramNote::IgnoresOption { flag } => format!("{flag} does not reach {name}"),
        ProgramNote::StillBusy { drain_ns } => {
            format!("{name} was still busy after {:?}, and was stopped", Duration::from_nanos(*drain_ns))
        }
        ProgramNote::StoppedLate { signal, waited_ns } => {
            let waited = Duration::from_nanos(*waited_ns);
            format!("{name} did not stop at {signal} within {waited:?}, only at SIGTERM")
        }
        ProgramNote::UnusualEnd { status } => format!("{name} ended with {status} when it was stopped"),
        ProgramNote::LeftProcesses { processes } => {
            format!("{name} left processes behind ({processes}), which were killed")
        }
        ProgramNote::NotReported { counts, output } => {
            format!("{name} did not report \"{}\"; {output}", counts.join("\", \""))
        }
        ProgramNote::CapturedUnlikeFile { captured, in_file } => {
            format!("{name} says {captured} captured, its file has {in_file} frames")
        }
        ProgramNote::DroppedUnlikeReceived { received, dropped, against } => {
            let contradiction = match against {
                None => String::new(),
                Some(CountOfProgram::Captured(captured)) => format!(", but {captured} captured"),
                Some(CountOfProgram::InFile(frames)) => format!(", its file has {frames} frames"),
            };
            format!("{name} says {received} received and {dropped} dropped{contradiction}")
        }
        ProgramNote::MoreThanThereWere { received, at_most } => {
            format!("{name} says that {received} frames reached it, of {at_most} that there were")
        }
        ProgramNote::LastRecordCut => format!("the last record of {name}'s file is not whole"),
        ProgramNote::MissingAtEnd { frames, in_file, waited_ns } => {
            let missing = match in_file {
                true => format!("the last {frames} or more frames sent are not in its file"),
                false => format!("it does not account for {frames} of the frames sent"),
            };
            let waited = Duration::from_nanos(*waited_ns);
            format!(
                "{name}: {missing}; a program that holds frames back for longer than the {waited:?} that were waited needs \
                 \"holds\" in its definition"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CountOfProgram, Noise, ProgramNote, words};

    #[test]
    fn a_program_is_named_with_what_it_did() {
        let cases = [
            (ProgramNote::IgnoresOption { flag: "--ring".into() }, "--ring does not reach x"),
            (
                ProgramNote::StillBusy { drain_ns: 30_000_000_000 },
                "x was still busy after 30s, and was stopped",
            ),
            (
                ProgramNote::StoppedLate { signal: "SIGINT".into(), waited_ns: 2_000_000_000 },
                "x did not stop at SIGINT within 2s, only at SIGTERM",
            ),
            (
                ProgramNote::UnusualEnd { status: "exit status 7".into() },
                "x ended with exit status 7 when it was stopped",
            ),
            (
                ProgramNote::NotReported {
                    counts: vec!["a".into(), "b".into()],
                    output: "it said nothing".into(),
                },
                "x did not report \"a\", \"b\"; it said nothing",
            ),
            (
                ProgramNote::CapturedUnlikeFile { captured: 9, in_file: 8 },
                "x says 9 captured, its file has 8 frames",
            ),
            (
                ProgramNote::DroppedUnlikeReceived {
                    received: 10,
                    dropped: 2,
                    against: Some(CountOfProgram::Captured(9)),
                },
                "x says 10 received and 2 dropped, but 9 captured",
            ),
            (
                ProgramNote::DroppedUnlikeReceived { received: 10, dropped: 11, against: None },
                "x says 10 received and 11 dropped",
            ),
            (
                ProgramNote::MoreThanThereWere { received: 10, at_most: 9 },
                "x says that 10 frames reached it, of 9 that there were",
            ),
            (
                ProgramNote::MissingAtEnd { frames: 3, in_file: true, waited_ns: 50_000_000 },
                "x: the last 3 or more frames sent are not in its file; a program that holds frames back for longer than the \
                 50ms that were waited needs \"holds\" in its definition",
            ),
        ];
        for (note, expected) in cases {
            assert_eq!(words(&Noise::Program { program: "x".into(), note }), expected);
        }
    }

    #[test]
    fn a_reason_says_what_happened_and_where_its_numbers_are() {
        let cases = [
            (
                Noise::Paused { counters: vec!["pause_sent".into(), "pause_received".into()] },
                "(pause_sent, pause_received)",
            ),
            (Noise::KeptBack { packets: 7, counter: "pps_allowance_exceeded".into() }, "dropped 7 packets"),
            (
                Noise::GeneratorsAbsent { absent: 1, all: 3, reasons: vec!["no answer".into()] },
                "1 of 3 generators took no part, as --tolerate allows: no answer",
            ),
            (Noise::ConnectionLost { location: "ssh:b/eth0".into() }, "ssh:b/eth0: the connection was lost"),
            (Noise::from_earlier("the moon"), "the moon"),
        ];
        for (noise, part) in cases {
            assert!(words(&noise).contains(part), "{}", words(&noise));
        }
    }
}
