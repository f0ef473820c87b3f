//! Archives of named files, compressed together: a line `NAME OCTETS`, then the content, for each.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The groups of runs, each an archive.
const GROUPS: [&str; 5] = ["measured", "fixtures", "simulated", "older", "damaged"];
/// The archive of answers.
pub const ANSWERS: &str = "answers";
/// Level of compression, and the logarithm of the distance at which zstd looks for repetitions.
const LEVEL: i32 = 19;
const WINDOW_LOG: u32 = 27;

/// A file of an archive.
pub struct Entry {
    pub name: String,
    pub content: Vec<u8>,
}

/// The folder of the archives.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/data")
}

fn file(archive: &str) -> PathBuf {
    folder().join(format!("{archive}.zst"))
}

/// The files of an archive, in its order; none if there is no such archive.
pub fn read(archive: &str) -> Vec<Entry> {
    let Ok(compressed) = fs::read(file(archive)) else { return Vec::new() };
    let octets = zstd::decode_all(&compressed[..]).expect("the archive is compressed by zstd");
    let mut rest = &octets[..];
    let mut entries = Vec::new();
    while let Some(end) = rest.iter().position(|octet| *octet == b'\n') {
        let line = std::str::from_utf8(&rest[..end]).expect("the line of a file is text");
        let (name, octets) = line.rsplit_once(' ').expect("a line is NAME OCTETS");
        let (content, after) = rest[end + 1..].split_at(octets.parse().expect("a number of octets"));
        entries.push(Entry { name: name.into(), content: content.into() });
        rest = after;
    }
    entries
}

/// Adds the entries whose names an archive lacks.
pub fn add_new(archive: &str, entries: Vec<Entry>) {
    let mut all = read(archive);
    let known: BTreeSet<String> = all.iter().map(|entry| entry.name.clone()).collect();
    all.extend(entries.into_iter().filter(|entry| !known.contains(&entry.name)));
    write(archive, &all);
}

/// Writes an archive anew.
fn write(archive: &str, entries: &[Entry]) {
    let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(WINDOW_LOG).unwrap();
    for Entry { name, content } in entries {
        encoder.write_all(format!("{name} {}\n", content.len()).as_bytes()).unwrap();
        encoder.write_all(content).unwrap();
    }
    fs::write(file(archive), encoder.finish().unwrap()).unwrap();
}

/// Every saved run, named `GROUP/NAME`.
pub fn runs() -> Vec<Entry> {
    let mut runs = Vec::new();
    for group in GROUPS {
        for Entry { name, content } in read(group) {
            runs.push(Entry { name: format!("{group}/{name}"), content });
        }
    }
    runs
}

/// The lines of the earlier answers, by the name of the run.
pub fn answers() -> BTreeMap<String, Vec<String>> {
    let mut answers = BTreeMap::new();
    for Entry { name, content } in read(ANSWERS) {
        let text = String::from_utf8(content).expect("answers are text");
        answers.insert(name, text.lines().map(String::from).collect());
    }
    answers
}

/// Adds the files `*.json` of a folder to the group that is named as the folder. A file of the same name is replaced.
pub fn add(folder: &str) {
    let folder = Path::new(folder);
    let group = folder.file_name().expect("a folder has a name").to_str().unwrap();
    assert!(GROUPS.contains(&group), "{group} is none of {GROUPS:?}");
    let mut contents: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for Entry { name, content } in read(group) {
        contents.insert(name, content);
    }
    for entry in fs::read_dir(folder).expect("the folder can be read") {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_string();
            contents.insert(name, without_indentation(&fs::read(&path).unwrap()));
        }
    }
    let mut entries = Vec::new();
    for (name, content) in contents {
        entries.push(Entry { name, content });
    }
    write(group, &entries);
}

/// JSON without white space between its parts. The numbers keep their text.
fn without_indentation(json: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(json.len());
    let mut is_in_text = false;
    let mut is_escaped = false;
    for &octet in json {
        if is_in_text || !octet.is_ascii_whitespace() {
            kept.push(octet);
        }
        if octet == b'"' && !is_escaped {
            is_in_text = !is_in_text;
        }
        is_escaped = is_in_text && octet == b'\\' && !is_escaped;
    }
    kept
}
