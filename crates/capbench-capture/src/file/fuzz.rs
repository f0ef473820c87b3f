//! A fuzzer for the reader, without tools beside cargo: files of `fuzz-corpus` and of the tests, changed at random. A change
//! that makes the reader behave as none before stays, to be changed further.
//!
//! `CAPBENCH_FUZZ_SECONDS=600 cargo test -p capbench-capture --release fuzz` takes longer than the second of a normal run;
//! with `CAPBENCH_FUZZ_KEEP=1` what it found joins the corpus. `CAPBENCH_FUZZ_SEED` repeats a run's changes.

mod changes;

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use self::changes::{Dice, changed};
use super::tests::{Kept, KeptPacket, Trickle, Whole, example, packets, pcap_example};
use super::{
    Encoder, HashAlgorithm, InterfaceDescription, InterfaceStatistics, PcapEncoder, PcapngEncoder,
    SectionDescription,
};
use crate::options::SnapLength;

/// Octets of a file that is worth changing.
const LARGEST: usize = 4096;

/// Which behaviour a file showed: a number that other files share when the reader does the same with them.
fn behaviour(whole: &Whole) -> u64 {
    let size = |octets: usize| octets.checked_ilog2();
    let mut shapes: Vec<_> = whole
        .records
        .iter()
        .map(|record| match record {
            Kept::Section(section) => (0, u64::from(*section != SectionDescription::default())),
            Kept::Interface(number, interface) => {
                let InterfaceDescription { name, mac, speed, filter, comments, .. } = &interface.description;
                let told =
                    [name.is_some(), mac.is_some(), speed.is_some(), filter.is_some(), comments.is_empty()];
                (1, bits(&told) << 8 | u64::from(*number).min(3))
            }
            Kept::Packet(packet) => {
                let KeptPacket { dropped, flags, queue, hash, time_ns, .. } = packet;
                let told =
                    [dropped.is_some(), flags.is_some(), queue.is_some(), hash.is_some(), time_ns.is_some()];
                let edge = matches!(time_ns, Some(0 | u64::MAX));
                let length = size(packet.data.len()).map_or(0, |size| u64::from(size) + 1);
                (2, bits(&told) << 16 | u64::from(edge) << 8 | length)
            }
            Kept::Statistics(statistics) => {
                let InterfaceStatistics { start_ns, end_ns, received, delivered, .. } = statistics;
                (3, bits(&[start_ns.is_some(), end_ns.is_some(), received.is_some(), delivered.is_some()]))
            }
        })
        .collect();
    shapes.sort_unstable();
    shapes.dedup();
    let error = whole.error.as_ref().map(ToString::to_string).unwrap_or_default();
    let error: String = error.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    let mut hasher = DefaultHasher::new();
    (shapes, size(whole.records.len()), whole.early, error).hash(&mut hasher);
    hasher.finish()
}

fn bits(told: &[bool]) -> u64 {
    told.iter().fold(0, |bits, &told| bits << 1 | u64::from(told))
}

/// What holds of any file. `None` for one that cannot be opened.
fn check(octets: &[u8], dice: &mut Dice) -> Option<u64> {
    let whole = Whole::read(octets).ok()?;
    let trickled = Whole::read(Trickle(octets, dice.below(7) + 1)).expect("as it did before");
    assert_eq!(trickled.records, whole.records, "how many octets come at once does not matter");
    assert_eq!(trickled.error.map(|error| error.to_string()), whole.error.as_ref().map(ToString::to_string));
    if let Ok(cut) = Whole::read(&octets[..dice.below(octets.len() + 1)]) {
        assert_eq!(cut.records, whole.records[..cut.records.len()], "what comes later does not matter");
    }
    written_again(&whole);
    Some(behaviour(&whole))
}

/// What was read can be written, and is then read as the same.
fn written_again(whole: &Whole) {
    let interfaces = vec![InterfaceDescription::default(); 300];
    let snap = SnapLength::EVERYTHING;
    let encoder =
        PcapngEncoder::new(&SectionDescription::default(), &interfaces, snap, HashAlgorithm::Toeplitz);
    let encoder = encoder.expect("nothing in it is long");
    let mut file = encoder.header();
    let mut room = vec![0; encoder.largest_record()];
    let mut expected = Vec::new();
    for packet in whole.packets().filter(|packet| packet.interface < 300) {
        let read = packet.as_read();
        let taken = encoder.encode(&read.frame(), &read.facts(), &mut room).expect("the largest record fits");
        file.extend(&room[..taken]);
        assert!(PcapEncoder::new(snap).encode(&read.frame(), &read.facts(), &mut room).is_some());
        expected.push((
            packet.data.clone(),
            packet.original_length.max(packet.data.len() as u32),
            packet.time_ns.or(Some(0)),
            packet.facts(),
        ));
    }
    let again = Whole::of(&file);
    let seen: Vec<_> = packets(&again)
        .map(|packet| (packet.data.clone(), packet.original_length, packet.time_ns, packet.facts()))
        .collect();
    assert_eq!(seen, expected);
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz-corpus")
}

/// Files to begin with: the committed ones, and those of the tests.
fn corpus() -> Vec<Vec<u8>> {
    let mut paths: Vec<_> = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut files: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    files.extend([false, true].map(example));
    for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
        files.extend([false, true].map(|big| pcap_example(big, magic)));
    }
    files
}

/// Files, each with a behaviour of its own: of several the shortest.
#[derive(Default)]
struct Found(HashMap<u64, Vec<u8>>);

impl Found {
    /// Whether it is new.
    fn add(&mut self, behaviour: u64, octets: &[u8]) -> bool {
        match self.0.get_mut(&behaviour) {
            None => {
                self.0.insert(behaviour, octets.to_vec());
                true
            }
            Some(known) => {
                if octets.len() < known.len() {
                    *known = octets.to_vec();
                }
                false
            }
        }
    }
}

/// The number that an environment variable has.
fn number_of(variable: &str) -> Option<u64> {
    let text = env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

#[test]
fn every_file_of_the_corpus_is_read_as_any_file() {
    for octets in corpus() {
        for seed in 0..20 {
            check(&octets, &mut Dice::new(seed));
        }
    }
}

#[test]
fn fuzz_the_reader_for_a_while() {
    let span = Duration::from_secs(number_of("CAPBENCH_FUZZ_SECONDS").unwrap_or(1));
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as u64;
    let seed = number_of("CAPBENCH_FUZZ_SEED").unwrap_or_else(now);
    let (mut dice, mut found, mut pool) = (Dice::new(seed), Found::default(), corpus());
    for octets in &pool {
        if let Some(behaviour) = check(octets, &mut dice) {
            found.add(behaviour, octets);
        }
    }
    let (known, begun, mut tried) = (found.0.len(), Instant::now(), 0_u64);
    while begun.elapsed() < span {
        for _ in 0..32 {
            let octets = changed(&pool, &mut dice, LARGEST);
            let fate = dice.clone();
            let outcome = catch_unwind(|| check(&octets, &mut fate.clone()));
            let Ok(outcome) = outcome else {
                let path = env::temp_dir().join(format!("capbench-fuzz-{seed}.bin"));
                fs::write(&path, &octets).unwrap();
                panic!("CAPBENCH_FUZZ_SEED={seed}, file {tried}: kept as {}", path.display());
            };
            tried += 1;
            if outcome.is_some_and(|behaviour| found.add(behaviour, &octets)) {
                pool.push(octets);
            }
        }
    }
    println!("CAPBENCH_FUZZ_SEED={seed}: {tried} files, {} behaviours, {known} known before", found.0.len());
    assert!(tried > 0);
    if number_of("CAPBENCH_FUZZ_KEEP") == Some(1) {
        keep(&found);
    }
}

/// Writes every file whose behaviour the corpus does not show, made as short as it can be.
fn keep(found: &Found) {
    let mut shown = Found::default();
    for octets in corpus() {
        if let Some(behaviour) = check(&octets, &mut Dice::new(0)) {
            shown.add(behaviour, &octets);
        }
    }
    for (&wanted, octets) in found.0.iter().filter(|(behaviour, _)| !shown.0.contains_key(*behaviour)) {
        let mut short = octets.clone();
        let mut chunk = short.len() / 2;
        while chunk > 0 {
            let mut at = 0;
            while at + chunk <= short.len() {
                let mut shorter = short.clone();
                shorter.drain(at..at + chunk);
                match Whole::read(&shorter[..]) {
                    Ok(whole) if behaviour(&whole) == wanted => short = shorter,
                    _ => at += chunk,
                }
            }
            chunk /= 2;
        }
        fs::write(folder().join(format!("{wanted:016x}.bin")), short).unwrap();
    }
}
