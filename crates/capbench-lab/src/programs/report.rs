//! Reads counts from a program's output.

use capbench_model::counters::{Counters, Loss, LossSource, ProgramCount};
use capbench_model::noise::{CountOfProgram, ProgramNote};
use capbench_model::places::Place;

use super::program::{Meaning, Program};
use capbench_model::trial::ProgramReport;

/// The counts that a program reported.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Name, meaning and value of each count that was found.
    found: Vec<(String, Meaning, u64)>,
    /// Names of the counts that were not found.
    pub(super) missing: Vec<String>,
}

impl Report {
    /// Reads the last match of each pattern: programs print totals at their end.
    pub(super) fn read(program: &Program, text: &str) -> Self {
        let mut report = Self::default();
        for count in &program.counts {
            let last = count.pattern.captures_iter(text).last();
            // A number that does not fit the type counts as missing.
            match last.and_then(|groups| groups.get(1)?.as_str().parse().ok()) {
                Some(value) => report.found.push((count.name.clone(), count.meaning, value)),
                None => report.missing.push(count.name.clone()),
            }
        }
        report
    }

    fn of(&self, meaning: Meaning) -> Option<u64> {
        self.found.iter().find(|(_, known, _)| *known == meaning).map(|(_, _, value)| *value)
    }

    /// Frames dropped because its socket, its ring or its own queue was full.
    pub(super) fn all_dropped(&self) -> Option<u64> {
        self.of(Meaning::Dropped)?.checked_add(self.of(Meaning::QueueDropped).unwrap_or(0))
    }

    /// Frames that reached its socket or ring, including those dropped there.
    fn received(&self) -> Option<u64> {
        self.of(Meaning::Received).or_else(|| {
            let dropped = self.all_dropped()?;
            self.of(Meaning::Captured)?.checked_add(dropped)
        })
    }

    /// Frames that it read.
    pub(super) fn captured(&self) -> Option<u64> {
        self.of(Meaning::Captured).or_else(|| {
            let dropped = self.all_dropped()?;
            self.of(Meaning::Received)?.checked_sub(dropped)
        })
    }

    /// Its own statements besides the frames of its file, without numbers that follow from others.
    pub(super) fn said(&self, in_file: Option<u64>) -> ProgramReport {
        ProgramReport {
            captured: self.of(Meaning::Captured),
            received: self.of(Meaning::Received),
            dropped: self.all_dropped(),
            in_file,
        }
    }

    /// Its contradictions with itself or with its file. `most` is the upper bound of frames that reached it.
    pub(super) fn contradictions(&self, in_file: Option<u64>, most: Option<u64>) -> Vec<ProgramNote> {
        let mut found = Vec::new();
        let captured = self.of(Meaning::Captured);
        if let (Some(captured), Some(in_file)) = (captured, in_file)
            && captured != in_file
        {
            found.push(ProgramNote::CapturedUnlikeFile { captured, in_file });
        }
        if let (Some(received), Some(dropped)) = (self.of(Meaning::Received), self.all_dropped()) {
            let counted = match captured {
                Some(captured) => Some(CountOfProgram::Captured(captured)),
                None => in_file.map(CountOfProgram::InFile),
            };
            let left = received.checked_sub(dropped);
            let against = counted.filter(|_| left.is_some());
            if left.is_none() || against.is_some() && left != captured.or(in_file) {
                found.push(ProgramNote::DroppedUnlikeReceived { received, dropped, against });
            }
        }
        if let (Some(received), Some(at_most)) = (self.received(), most)
            && received > at_most
        {
            found.push(ProgramNote::MoreThanThereWere { received, at_most });
        }
        found
    }

    /// Names of missing numbers that the ledger needs.
    pub(super) fn lacks<'p>(&self, program: &'p Program) -> Vec<&'p str> {
        let counts = program.counts.iter().filter(|count| count.meaning != Meaning::Other);
        counts
            .map(|count| count.name.as_str())
            .filter(|name| self.missing.iter().any(|lost| lost == name))
            .collect()
    }

    /// The losses that a program counts by this meaning; `None` if it has no such count.
    fn loss(&self, program: &Program, meaning: Meaning, place: Place) -> Option<Loss> {
        let named = program.counts.iter().find(|count| count.meaning == meaning)?;
        let (program, name) = (program.name.clone(), named.name.clone());
        let count = self.of(meaning);
        let source = match count {
            Some(_) => ProgramCount::Reported { program, count: name },
            None => ProgramCount::NotReported { program, count: name },
        };
        Some(Loss { place, count, source: LossSource::Program(source) })
    }

    /// The program's counters; those with a known meaning at their place.
    pub(super) fn counters(&self, program: &Program) -> Counters {
        let mut losses = Vec::new();
        match self.loss(program, Meaning::Dropped, Place::Ring) {
            Some(loss) => losses.push(loss),
            None if program.without.contains(&Place::Ring) => {}
            None => {
                let source = LossSource::Program(ProgramCount::NoCount { program: program.name.clone() });
                losses.push(Loss { place: Place::Ring, count: None, source });
            }
        }
        losses.extend(self.loss(program, Meaning::QueueDropped, Place::MethodQueue));
        Counters {
            accepted: self.received(),
            losses,
            without: program.without.clone(),
            raw: self.found.iter().map(|(name, _, value)| (format!("reported {name}"), *value)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{CountOfProgram, LossSource, ProgramCount, ProgramNote, Report};
    use crate::programs::{Meaning, Program, Programs};
    use capbench_model::evidence::Evidence;
    use capbench_model::places::Place;
    use capbench_model::sources::Source;

    fn program(name: &str) -> Program {
        Programs::default().find(&format!("cmd:{name}").parse().unwrap()).unwrap().clone()
    }

    /// The ends of what the programs print, taken from runs of them; Suricata's and Zeek's after their sources.
    const PRINTED: [(&str, &str, [u64; 3]); 9] = [
        (
            "tcpdump",
            "tcpdump: listening on x, link-type EN10MB (Ethernet), snapshot length 262144 bytes\n9990 packets captured\n\
             10000 packets received by filter\n10 packets dropped by kernel\n",
            [10000, 10, 9990],
        ),
        (
            "tcpdump",
            "1 packet captured\n1 packet received by filter\n0 packets dropped by kernel\n",
            [1, 0, 1],
        ),
        (
            "dumpcap",
            "Capturing on 'x'\nFile: /d/f\nPackets captured: 9990\nPackets received/dropped on interface 'x': 9990/13 \
             (pcap:10/dumpcap:3/flushed:0/ps_ifdrop:0) (99.9%)\n",
            [10003, 10, 9990],
        ),
        (
            "tracestats-ring",
            "filter                        \t       count\t       bytes\t      %\n                         Total:\t        \
             9871\t      631744\nring:x:\n               Dropped packets:\t         129\n              Accepted Packets:\t        \
             9871\n",
            [10000, 129, 9871],
        ),
        (
            "netsniff-ng",
            "Running! Hang up with ^C!\n\n       10000  packets incoming (0 unread on exit)\n        9990  packets passed \
             filter\n          10  packets failed filter (out of space)\n      0.1000% packet droprate\n",
            [10000, 10, 9990],
        ),
        (
            "suricata",
            "<Notice> - Stats for 'x':  pkts: 100, drop: 7 (7.00%), invalid chksum: 0\n",
            [100, 7, 93],
        ),
        ("suricata", "Notice: device: x: packets: 100, drops: 7 (7.00%), invalid chksum: 0\n", [100, 7, 93]),
        (
            "zeek",
            "1700000000.1 received termination signal\n1700000000.1 93 packets received on interface x, 7 dropped\n",
            [100, 7, 93],
        ),
        (
            "zeek",
            "1.2 93 packets received on interface x, 7 (7.00%) dropped, 0 (0.00%) not processed\n",
            [100, 7, 93],
        ),
    ];

    #[test]
    fn what_programs_print_is_understood() {
        for (name, text, [received, dropped, captured]) in PRINTED {
            let program = program(name);
            let report = Report::read(&program, text);
            let counters = report.counters(&program);
            assert_eq!(
                (counters.accepted, counters.lost_at(Place::Ring), report.captured()),
                (Some(received), Some(dropped), Some(captured)),
                "{name}: {text}"
            );
            assert!(report.lacks(&program).is_empty(), "{name}");
        }
        let dumpcap = program("dumpcap");
        let counters = Report::read(&dumpcap, PRINTED[2].1).counters(&dumpcap);
        assert_eq!(counters.lost_at(Place::MethodQueue), Some(3));
        assert_eq!(counters.raw("reported dropped"), Some(13));
    }

    #[test]
    fn the_last_report_counts_and_a_missing_one_is_unknown() {
        let tcpdump = program("tcpdump");
        let report = Report::read(&tcpdump, "1 packets captured\n2 packets captured\n");
        assert_eq!(report.captured(), Some(2));
        assert_eq!(report.lacks(&tcpdump), ["received by filter", "dropped by kernel"]);
        let counters = report.counters(&tcpdump);
        assert_eq!((counters.accepted, counters.lost_at(Place::Ring)), (None, None));
        let not_reported =
            ProgramCount::NotReported { program: "tcpdump".into(), count: "dropped by kernel".into() };
        assert_eq!(counters.losses[0].source, LossSource::Program(not_reported));
        let huge = Report::read(&tcpdump, "99999999999999999999999 packets captured");
        assert_eq!(huge.captured(), None);
    }

    #[test]
    fn a_report_that_contradicts_itself_or_the_file_is_told() {
        let tcpdump = program("tcpdump");
        let contradictions = |numbers: [u64; 3], in_file, most| {
            let [captured, received, dropped] = numbers;
            let text = format!(
                "{captured} packets captured\n{received} packets received by filter\n{dropped} packets dropped by kernel\n"
            );
            Report::read(&tcpdump, &text).contradictions(in_file, most)
        };
        assert_eq!(contradictions([9, 10, 1], Some(9), Some(10)), []);
        let unlike_file = ProgramNote::CapturedUnlikeFile { captured: 9, in_file: 8 };
        assert_eq!(contradictions([9, 10, 1], Some(8), None), [unlike_file]);
        let against = Some(CountOfProgram::Captured(9));
        for (numbers, expected) in [
            ([9, 10, 2], ProgramNote::DroppedUnlikeReceived { received: 10, dropped: 2, against }),
            ([9, 10, 11], ProgramNote::DroppedUnlikeReceived { received: 10, dropped: 11, against: None }),
            ([9, 10, 1], ProgramNote::MoreThanThereWere { received: 10, at_most: 9 }),
        ] {
            assert_eq!(contradictions(numbers, Some(9), Some(9 + u64::from(numbers[2] > 1))), [expected]);
        }
        let netsniff = program("netsniff-ng");
        let report = Report::read(&netsniff, PRINTED[4].1);
        assert_eq!(report.contradictions(Some(9990), Some(10000)), []);
        let against = Some(CountOfProgram::InFile(9000));
        assert_eq!(
            report.contradictions(Some(9000), None),
            [ProgramNote::DroppedUnlikeReceived { received: 10000, dropped: 10, against }]
        );
        assert_eq!((report.said(None).captured, report.said(None).received), (None, Some(10000)));
    }

    /// A program that tells only what it captured may have lost frames; nobody says how many.
    #[test]
    fn a_ring_without_a_count_is_unknown_and_not_0() {
        let mut quiet = program("tcpdump");
        quiet.counts.retain(|count| count.meaning == Meaning::Captured);
        let ring = |program: &Program| {
            let method = Report::read(program, "9 packets captured").counters(program);
            let entries = Evidence { method, ..Evidence::default() }.book().entries;
            entries.into_iter().find(|entry| entry.place == Place::Ring).unwrap()
        };
        let entry = ring(&quiet);
        let no_count = LossSource::Program(ProgramCount::NoCount { program: "tcpdump".into() });
        assert_eq!((entry.count, entry.source_fact), (None, Some(Source::Method(no_count))));
        quiet.without.push(Place::Ring);
        assert_eq!(ring(&quiet).count, Some(0), "its definition says that there is none");
    }

    proptest! {
        // Each text goes through every program's patterns.
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn no_text_makes_it_panic(text in "(\\PC|[0-9]{1,20} packets (captured|received by filter|dropped by kernel)){0,8}") {
            for program in Programs::default().rows() {
                let report = Report::read(program, &text);
                let _ = (report.captured(), report.counters(program));
            }
        }
    }
}
