//! A fuzzer for the reader, without tools beside cargo: files of `fuzz-corpus` and of the tests, changed at random. A change
//! that makes the reader behave as none before stays, to be changed further.
//!
//! `CAPBENCH_FUZZ_SECONDS=600 cargo test -p capbench-capture --release fuzz` takes longer than the second of a normal run;
//! with `CAPBENCH_FUZZ_KEEP=1` what it found joins the corpus. `CAPBENCH_FUZZ_SEED` repeats a run's changes.

mod changes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::catch_unwind;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, fs};

use self::changes::{Dice, changed};
use super::tests::{Kept, KeptPacket, Trickle, Whole, example, packets, pcap_example, small_example};
use super::{
    Encoder, HashAlgorithm, InterfaceDescription, InterfaceFilter, InterfaceStatistics, PcapEncoder,
    PcapngEncoder, SectionDescription,
};
use crate::options::SnapLength;

/// Octets of a file that is worth changing.
const LARGEST: usize = 4096;

/// Something that the reader does with some files: a number that each of them shares.
type Behaviour = u64;

/// All that it did with a file.
fn behaviours(whole: &Whole) -> BTreeSet<Behaviour> {
    let hashed = |what: &dyn Debug| {
        let mut hasher = DefaultHasher::new();
        format!("{what:?}").hash(&mut hasher);
        hasher.finish()
    };
    let error = whole.error.as_ref().map(ToString::to_string).unwrap_or_default();
    let error: String = error.chars().filter(|letter| !letter.is_ascii_digit()).collect();
    let records = whole.records.len().checked_ilog2();
    let mut shown = BTreeSet::from([hashed(&("end", error, whole.early)), hashed(&("records", records))]);
    for record in &whole.records {
        match record {
            Kept::Section(section) => {
                shown.insert(hashed(&("section", *section == SectionDescription::default())));
            }
            Kept::Interface(number, interface) => {
                let InterfaceDescription { name, mac, speed, filter, comments, .. } = &interface.description;
                let told = [name.is_some(), mac.is_some(), speed.is_some(), comments.is_empty()];
                let program = matches!(filter, Some(InterfaceFilter::Program(_)));
                shown.insert(hashed(&("interface", bits(&told), filter.is_some(), program)));
                shown.insert(hashed(&("interface", number.min(&4))));
            }
            Kept::Packet(packet) => {
                let KeptPacket { dropped, flags, queue, hash, time_ns, data, .. } = packet;
                let told = [dropped.is_some(), flags.is_some(), queue.is_some(), hash.is_some()];
                shown.insert(hashed(&("packet", bits(&told), time_ns.is_some())));
                shown.insert(hashed(&("time", matches!(time_ns, Some(0)), *time_ns == Some(u64::MAX))));
                shown.insert(hashed(&("octets", data.len().checked_ilog2())));
                shown.insert(hashed(&("short", (data.len() as u64).cmp(&packet.original_length.into()))));
            }
            Kept::Statistics(statistics) => {
                let InterfaceStatistics { start_ns, end_ns, received, delivered, .. } = statistics;
                let told = [start_ns.is_some(), end_ns.is_some(), received.is_some(), delivered.is_some()];
                shown.insert(hashed(&("statistics", bits(&told))));
            }
        }
    }
    shown
}

fn bits(told: &[bool]) -> u64 {
    told.iter().fold(0, |bits, &told| bits << 1 | u64::from(told))
}

/// What holds of any file. `None` for one that cannot be opened.
fn check(octets: &[u8], dice: &mut Dice) -> Option<BTreeSet<Behaviour>> {
    let whole = Whole::read(octets).ok()?;
    let trickled = Whole::read(Trickle(octets, dice.below(7) + 1)).expect("as it did before");
    assert_eq!(trickled.records, whole.records, "how many octets come at once does not matter");
    assert_eq!(trickled.error.map(|error| error.to_string()), whole.error.as_ref().map(ToString::to_string));
    if let Ok(cut) = Whole::read(&octets[..dice.below(octets.len() + 1)]) {
        assert_eq!(cut.records, whole.records[..cut.records.len()], "what comes later does not matter");
    }
    written_again(&whole);
    Some(behaviours(&whole))
}

/// What was read can be written, and is then read as the same.
fn written_again(whole: &Whole) {
    let interfaces = vec![InterfaceDescription::default(); 4];
    let snap = SnapLength::new(2 * LARGEST as u32);
    let encoder =
        PcapngEncoder::new(&SectionDescription::default(), &interfaces, snap, HashAlgorithm::Toeplitz);
    let encoder = encoder.expect("nothing in it is long");
    let mut file = encoder.header();
    let mut room = vec![0; encoder.largest_record()];
    let mut expected = Vec::new();
    for packet in whole.packets().filter(|packet| packet.interface < 4) {
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
    files.push(small_example());
    for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
        files.extend([false, true].map(|big| pcap_example(big, magic)));
    }
    files
}

/// Behaviours, each with the shortest file that shows it.
#[derive(Default)]
struct Found(BTreeMap<Behaviour, Vec<u8>>);

impl Found {
    /// Whether one of them is new.
    fn add(&mut self, shown: &BTreeSet<Behaviour>, octets: &[u8]) -> bool {
        let before = self.0.len();
        for &behaviour in shown {
            let known = self.0.entry(behaviour).or_insert_with(|| octets.to_vec());
            if octets.len() < known.len() {
                *known = octets.to_vec();
            }
        }
        self.0.len() > before
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
        if let Some(shown) = check(octets, &mut dice) {
            found.add(&shown, octets);
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
            if outcome.is_some_and(|shown| found.add(&shown, &octets)) {
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

/// Writes a file for every behaviour that the corpus does not show, made as short as it can be.
fn keep(found: &Found) {
    let read = |octets: &[u8]| Whole::read(octets).map(|whole| behaviours(&whole)).unwrap_or_default();
    let mut shown: BTreeSet<_> = corpus().iter().flat_map(|octets| read(octets)).collect();
    for (wanted, octets) in &found.0 {
        if shown.contains(wanted) {
            continue;
        }
        let mut short = octets.clone();
        let mut chunk = short.len() / 2;
        while chunk > 0 {
            let mut at = 0;
            while at + chunk <= short.len() {
                let mut shorter = short.clone();
                shorter.drain(at..at + chunk);
                if read(&shorter).contains(wanted) {
                    short = shorter;
                } else {
                    at += chunk;
                }
            }
            chunk /= 2;
        }
        shown.extend(read(&short));
        fs::write(folder().join(format!("{wanted:016x}.bin")), short).unwrap();
    }
}
