//! Recognises the file names of a recording, including earlier runs.
//!
//! A pattern of strftime(3) is parsed as the possible output of its conversions: fixed text and fields of digits or words.
//! Rotation numbers, numbers of repeated names and `.zst` are as in `names` and `part`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::names::COMPRESSED;
use super::rotation::Rotation;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Octet(u8),
    /// This many digits, with a value in this range.
    Number {
        digits: (usize, usize),
        range: (u64, u64),
    },
    /// `+` or `-`.
    Sign,
    /// This many letters, digits or signs: names of days, months and time zones.
    Word {
        octets: (usize, usize),
    },
}

/// The file names of a recording, without folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OwnNames {
    pieces: Vec<Piece>,
    is_numbered: bool,
    is_compressed: bool,
    /// Whether an existing name gets a number: names of a pattern do.
    is_repeated: bool,
}

impl OwnNames {
    /// For the names of `path`, as [`super::names::FileNames`] makes them.
    pub(super) fn new(path: &Path, rotation: &Rotation, is_compressed: bool) -> Result<Self, String> {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let stem = if is_compressed { name.strip_suffix(COMPRESSED).unwrap_or(name) } else { name };
        let is_pattern = rotation.seconds.is_some();
        let folder = path.parent().map_or(&[][..], |folder| folder.as_os_str().as_bytes());
        if is_pattern && folder.contains(&b'%') {
            return Err("the folder in -w is a pattern, too; files are removed from one folder only".into());
        }
        let pieces = if is_pattern { of_pattern(stem)? } else { fixed(stem).collect() };
        Ok(Self { pieces, is_numbered: rotation.is_numbered(), is_compressed, is_repeated: is_pattern })
    }

    /// Whether this name belongs to the recording.
    pub(super) fn are(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        let stem = match (self.is_compressed, name.strip_suffix(COMPRESSED)) {
            (true, Some(stem)) => stem,
            (true, None) => return false,
            (false, _) => name,
        };
        let is_repeat = || without_repeat(stem).is_some_and(|stem| self.is_stem(&stem));
        self.is_stem(stem) || (self.is_repeated && is_repeat())
    }

    fn is_stem(&self, stem: &[u8]) -> bool {
        let end = if self.is_numbered {
            stem.iter().rposition(|octet| !octet.is_ascii_digit()).map_or(0, |last| last + 1)
        } else {
            stem.len()
        };
        // The pattern itself may end with digits. Numbers have no leading zeros: only ring numbers have, and rings are never
        // removed.
        (end..=stem.len()).any(|end| stem.get(end) != Some(&b'0') && is_match(&self.pieces, &stem[..end]))
    }
}

/// The name without the `-N` before its extension.
fn without_repeat(stem: &[u8]) -> Option<Vec<u8>> {
    let dot = stem.iter().rposition(|octet| *octet == b'.').filter(|at| *at > 0).unwrap_or(stem.len());
    let (front, ending) = stem.split_at(dot);
    let digits = front.iter().rev().take_while(|octet| octet.is_ascii_digit()).count();
    let front = front[..front.len() - digits].strip_suffix(b"-").filter(|_| digits > 0)?;
    Some([front, ending].concat())
}

fn fixed(text: &[u8]) -> impl Iterator<Item = Piece> {
    text.iter().copied().map(Piece::Octet)
}

/// The possible output of a pattern (strftime(3)).
fn of_pattern(pattern: &[u8]) -> Result<Vec<Piece>, String> {
    let number =
        |digits: usize, least, most| Piece::Number { digits: (digits, digits), range: (least, most) };
    let mut pieces = Vec::new();
    let mut octets = pattern.iter().copied();
    while let Some(octet) = octets.next() {
        if octet != b'%' {
            pieces.push(Piece::Octet(octet));
            continue;
        }
        let year = Piece::Number { digits: (4, 9), range: (0, 999_999_999) };
        match octets.next() {
            Some(b'%') => pieces.push(Piece::Octet(b'%')),
            Some(b'Y' | b'G') => pieces.push(year),
            Some(b'C' | b'y' | b'g') => pieces.push(number(2, 0, 99)),
            Some(b'm') => pieces.push(number(2, 1, 12)),
            Some(b'd') => pieces.push(number(2, 1, 31)),
            Some(b'H') => pieces.push(number(2, 0, 23)),
            Some(b'I') => pieces.push(number(2, 1, 12)),
            Some(b'M') => pieces.push(number(2, 0, 59)),
            Some(b'S') => pieces.push(number(2, 0, 60)),
            Some(b'j') => pieces.push(number(3, 1, 366)),
            Some(b'U' | b'V' | b'W') => pieces.push(number(2, 0, 53)),
            Some(b'u' | b'w') => pieces.push(number(1, 0, 7)),
            Some(b's') => pieces.push(Piece::Number { digits: (1, 19), range: (0, u64::MAX) }),
            Some(b'z') => pieces.extend([Piece::Sign, number(4, 0, 2400)]),
            Some(b'a' | b'b' | b'h') => pieces.push(Piece::Word { octets: (3, 3) }),
            Some(b'A' | b'B') => pieces.push(Piece::Word { octets: (3, 9) }),
            Some(b'p') => pieces.push(Piece::Word { octets: (2, 2) }),
            Some(b'Z') => pieces.push(Piece::Word { octets: (1, 9) }),
            Some(b'F') => pieces.extend(of_pattern(b"%Y-%m-%d")?),
            Some(b'T') => pieces.extend(of_pattern(b"%H:%M:%S")?),
            Some(b'R') => pieces.extend(of_pattern(b"%H:%M")?),
            other => {
                let name = other.map(char::from).unwrap_or(' ');
                return Err(format!("names with %{name} are not recognised; use %Y %m %d %H %M %S or %s"));
            }
        }
    }
    Ok(pieces)
}

fn is_match(pieces: &[Piece], text: &[u8]) -> bool {
    let Some((first, rest)) = pieces.split_first() else { return text.is_empty() };
    let after = |length: usize| is_match(rest, &text[length..]);
    match first {
        Piece::Octet(octet) => text.first() == Some(octet) && after(1),
        Piece::Sign => matches!(text.first(), Some(b'+' | b'-')) && after(1),
        Piece::Number { digits: (least, most), range } => {
            let there = text.iter().take(*most).take_while(|octet| octet.is_ascii_digit()).count();
            (*least..=there).any(|length| {
                let value = std::str::from_utf8(&text[..length]).ok().and_then(|text| text.parse().ok());
                value.is_some_and(|value: u64| (range.0..=range.1).contains(&value)) && after(length)
            })
        }
        Piece::Word { octets: (least, most) } => {
            let is_part = |octet: &&u8| octet.is_ascii_alphanumeric() || matches!(octet, b'+' | b'-');
            let there = text.iter().take(*most).take_while(is_part).count();
            (*least..=there).any(after)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writing::names::FileNames;
    use proptest::prelude::*;

    fn own(path: &str, rotation: Rotation, is_compressed: bool) -> OwnNames {
        OwnNames::new(Path::new(path), &rotation, is_compressed).unwrap()
    }

    const TIMED: Rotation =
        Rotation { bytes: None, packets: None, seconds: Some(60), files: None, last: None };

    #[test]
    fn names_of_others_are_not_recognised_as_ours() {
        let names = own("/data/eth0-%Y-%m-%dT%H-%M-%S.pcapng", TIMED, false);
        for (name, is_own) in [
            ("eth0-2026-11-23T00-44-04.pcapng", true),
            ("eth0-2026-11-23T00-44-04-1.pcapng", true),
            ("eth0-2026-11-23T00-44-04-17.pcapng", true),
            ("eth0-2026-11-23T00-44-04.pcapng.zst", false),
            ("eth0-2026-11-23T00-44-04.pcapng1", false),
            ("eth0-2026-11-23T00-44-04-.pcapng", false),
            ("eth0-2026-11-23T00-44-04-x.pcapng", false),
            ("eth0-2026-13-23T00-44-04.pcapng", false),
            ("eth0-2026-11-32T00-44-04.pcapng", false),
            ("eth0-2026-11-23T24-44-04.pcapng", false),
            ("eth1-2026-11-23T00-44-04.pcapng", false),
            ("eth0-2026-11-23.pcapng", false),
            ("xeth0-2026-11-23T00-44-04.pcapng", false),
            ("eth0-2026-11-23T00-44-04.pcapngx", false),
            ("important.pcapng", false),
            ("", false),
            ("..", false),
        ] {
            assert_eq!(names.are(OsStr::new(name)), is_own, "{name}");
        }
        let both = own("%s.pcap", Rotation { bytes: Some(1), ..TIMED }, true);
        assert!(
            ["1700000000.pcap.zst", "1700000000.pcap12.zst", "1700000000-3.pcap12.zst"]
                .iter()
                .all(|name| both.are(OsStr::new(name)))
        );
        assert!(!both.are(OsStr::new("1700000000.pcap12")));
        let numbered = own("a%Y.pcap", Rotation { seconds: None, packets: Some(1), ..TIMED }, false);
        assert!(numbered.are(OsStr::new("a%Y.pcap7")) && numbered.are(OsStr::new("a%Y.pcap")));
        assert!(!numbered.are(OsStr::new("a2026.pcap7")));
    }

    #[test]
    fn patterns_that_cannot_be_recognised_are_refused() {
        let refusal = |path: &str| OwnNames::new(Path::new(path), &TIMED, false).unwrap_err();
        assert!(refusal("/data/%Y/%m.pcapng").contains("folder"));
        assert!(refusal("%c.pcapng").contains("%c"));
        assert!(refusal("a%").contains('%'));
    }

    proptest! {
        #[test]
        fn every_name_that_a_recording_makes_is_its_own(
            pattern in "a[a-z.-]{0,3}(%[YmdHMSjsFTzZbBaAp]|[a-z0-9.-]){1,8}",
            second in 0_i64..4_000_000_000,
            number in 0_u64..1000,
            is_compressed: bool,
            is_numbered: bool,
        ) {
            let rotation = Rotation { packets: is_numbered.then_some(1), ..TIMED };
            let made = FileNames::new(Path::new(&pattern), &rotation, is_compressed).path(second, number);
            prop_assume!(made.is_ok());
            prop_assert!(own(&pattern, rotation, is_compressed).are(made.unwrap().as_os_str()));
        }
    }
}
