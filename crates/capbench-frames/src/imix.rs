//! Mixes of frame sizes as repeating sequences (RFC 6985, "IMIX Genome"), never random.
//!
//! A sequence is spread evenly: each place gets the letter that lags furthest behind its share (largest remainder). Otherwise
//! seven small frames followed by four large ones would be a burst.

use std::fmt;
use std::str::FromStr;

use crate::{FrameError, FrameSize, Result};

/// A row of the table of presets.
#[derive(Debug, Clone, Copy)]
pub struct ImixPreset {
    /// Its name.
    pub name: &'static str,
    /// Sizes in octets, FCS included, and their weights.
    pub parts: &'static [(u16, u32)],
    /// Its source.
    pub source: &'static str,
}

/// The presets. Percentages with decimals are written as weights in hundredths.
pub const PRESETS: &[ImixPreset] = &[
    ImixPreset {
        name: "imix",
        parts: &[(64, 7), (570, 4), (1518, 1)],
        source: "Open Traffic Generator IMIX, FD.io CSIT IMIX_v4_1",
    },
    ImixPreset {
        name: "imix-nfvbench",
        parts: &[(64, 7), (594, 4), (1518, 1)],
        source: "NFVbench: IP packets of 40, 576 and 1500 octets",
    },
    ImixPreset { name: "imix-576", parts: &[(64, 7), (576, 4), (1500, 1)], source: "a common variant" },
    ImixPreset {
        name: "imix-trex",
        parts: &[(64, 7), (594, 5), (1518, 1)],
        source: "TRex stl/imix.py, FD.io CSIT IMIX_v4",
    },
    ImixPreset {
        name: "imix-ipsec",
        parts: &[(90, 5867), (92, 200), (594, 2366), (1418, 1567)],
        source: "Open Traffic Generator IPsec IMIX",
    },
    ImixPreset {
        name: "imix-ipv6",
        parts: &[(60, 5867), (496, 200), (594, 2366), (1518, 1567)],
        source: "Open Traffic Generator IPv6 IMIX; 60 is below the least Ethernet frame and is raised",
    },
    ImixPreset {
        name: "imix-standard",
        parts: &[(58, 5867), (62, 200), (594, 2366), (1518, 1567)],
        source: "Open Traffic Generator standard IMIX; 58 and 62 are raised",
    },
    ImixPreset {
        name: "imix-tcp",
        parts: &[(90, 5867), (92, 200), (594, 2366), (1518, 1567)],
        source: "Open Traffic Generator TCP IMIX",
    },
    ImixPreset {
        name: "imix-cesnet",
        parts: &[(64, 57), (570, 7), (594, 16), (1518, 20)],
        source: "CESNET technical report 22/2008, table 7",
    },
];

/// Sizes of the lower-case letters in RFC 6985 section 4. `z`, the MTU, is omitted: it is no fixed size.
const STANDARD_LETTERS: [(char, u16); 10] = [
    ('a', 64),
    ('b', 128),
    ('c', 256),
    ('d', 512),
    ('e', 1024),
    ('f', 1280),
    ('g', 1518),
    ('h', 2112),
    ('i', 9000),
    ('j', 16_000),
];

/// The expected text of a mix.
const WANTED: &str = "a mix: a preset name, or a genome such as 'A=64 B=570 C=1518: ABAABACABABA'";

/// A mix: letters with sizes, and their repeating sequence.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Imix {
    preset: Option<&'static str>,
    letters: Vec<(char, FrameSize)>,
    /// Indices into `letters`.
    sequence: Vec<u8>,
}

impl Imix {
    /// A preset by its name, or `None`.
    pub fn preset(name: &str) -> Option<Self> {
        let preset = PRESETS.iter().find(|preset| preset.name == name)?;
        let weights: Vec<u32> = preset.parts.iter().map(|&(_, weight)| weight).collect();
        let sizes = preset.parts.iter().filter_map(|&(octets, _)| FrameSize::try_from(octets).ok());
        Some(Self {
            preset: Some(preset.name),
            letters: ('A'..='Z').zip(sizes).collect(),
            sequence: interleave(&weights),
        })
    }

    /// A mix of sizes with weights, up to 52 sizes and a sequence of up to a million.
    ///
    /// # Errors
    /// More sizes or a longer sequence, or none.
    pub fn weighted(parts: &[(FrameSize, u32)]) -> Result<Self> {
        let total: u64 = parts.iter().map(|&(_, weight)| u64::from(weight)).sum();
        if parts.len() > 52 || !(1..=1_000_000).contains(&total) {
            return Err(FrameError::Mix { sizes: parts.len(), total });
        }
        let weights: Vec<u32> = parts.iter().map(|&(_, weight)| weight).collect();
        let letters = ('A'..='Z').chain('a'..='z').zip(parts).map(|(letter, &(size, _))| (letter, size));
        Ok(Self { preset: None, letters: letters.collect(), sequence: interleave(&weights) })
    }

    /// The sizes of one period, in sending order.
    pub fn sizes(&self) -> impl Iterator<Item = FrameSize> + '_ {
        self.sequence.iter().map(|&letter| self.letters[usize::from(letter)].1)
    }

    /// Mean size in octets, FCS included, before sizes are raised to a layout's minimum.
    pub fn mean_octets(&self) -> f64 {
        let sum: u64 = self.sizes().map(|size| u64::from(size.octets())).sum();
        sum as f64 / self.sequence.len() as f64
    }

    /// The preset's name, if it is one.
    pub fn name(&self) -> Option<&'static str> {
        self.preset
    }

    /// The literal genome for a report: letter table and sequence, `A=64 B=570 C=1518: ABAABACABABA`.
    pub fn genome(&self) -> String {
        let table: Vec<String> =
            self.letters.iter().map(|(letter, size)| format!("{letter}={size}")).collect();
        let sequence: String = self.sequence.iter().map(|&at| self.letters[usize::from(at)].0).collect();
        format!("{}: {sequence}", table.join(" "))
    }
}

/// The preset's name, or the genome; either parses back.
impl fmt::Display for Imix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.preset {
            Some(name) => f.write_str(name),
            None => f.write_str(&self.genome()),
        }
    }
}

impl FromStr for Imix {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        if let Some(preset) = Self::preset(text.trim()) {
            return Ok(preset);
        }
        let (table, pattern) = text.split_once(':').ok_or_else(|| unknown(text))?;
        let mut letters: Vec<(char, FrameSize)> = Vec::new();
        for entry in table.split_whitespace().filter(|&word| word != "genome") {
            letters.push(table_entry(entry, &letters)?);
        }
        let mut sequence = Vec::new();
        for letter in pattern.chars().filter(|letter| !letter.is_whitespace()) {
            sequence.push(index_of(letter, &mut letters).ok_or_else(|| FrameError::parse(text, WANTED))?);
        }
        if sequence.is_empty() {
            return Err(FrameError::parse(text, WANTED));
        }
        Ok(Self { preset: None, letters, sequence })
    }
}

/// `A=64`.
fn table_entry(entry: &str, known: &[(char, FrameSize)]) -> Result<(char, FrameSize)> {
    let wrong = || FrameError::parse(entry, "a letter and its size, such as A=64, each letter once");
    let (letter, octets) = entry.split_once('=').ok_or_else(wrong)?;
    let mut characters = letter.chars();
    match (characters.next(), characters.next()) {
        (Some(letter), None)
            if letter.is_ascii_alphabetic() && !known.iter().any(|&(other, _)| other == letter) =>
        {
            Ok((letter, FrameSize::try_from(octets.parse::<u16>().map_err(|_| wrong())?)?))
        }
        _ => Err(wrong()),
    }
}

/// The index of a letter. Standard letters join the table on first use.
fn index_of(letter: char, letters: &mut Vec<(char, FrameSize)>) -> Option<u8> {
    let at = letters.iter().position(|&(known, _)| known == letter).or_else(|| {
        let &(letter, octets) = STANDARD_LETTERS.iter().find(|&&(standard, _)| standard == letter)?;
        letters.push((letter, FrameSize::try_from(octets).ok()?));
        Some(letters.len() - 1)
    })?;
    u8::try_from(at).ok()
}

fn unknown(text: &str) -> FrameError {
    let known: Vec<&str> = PRESETS.iter().map(|preset| preset.name).collect();
    FrameError::Unknown { kind: "mix", name: text.to_owned(), known: known.join(", ") }
}

/// The letter at each place of one period, by largest remainder.
fn interleave(weights: &[u32]) -> Vec<u8> {
    let total: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let mut placed = vec![0_u64; weights.len()];
    (1..=total)
        .map(|places| {
            let lag = |letter: usize| {
                let due = u128::from(weights[letter]) * u128::from(places);
                due as i128 - i128::from(placed[letter]) * i128::from(total)
            };
            // Among equally lagging letters the first is chosen, so that the result is the same everywhere.
            let next = (0..weights.len()).rev().max_by_key(|&letter| lag(letter)).unwrap_or(0);
            placed[next] += 1;
            next as u8
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Means of the published weights, FCS included.
    #[test]
    fn mean_sizes_of_the_presets() {
        for (name, mean) in [
            ("imix", 353.83),
            ("imix-nfvbench", 361.83),
            ("imix-576", 354.33),
            ("imix-trex", 379.69),
            ("imix-ipsec", 417.38),
            ("imix-cesnet", 0.57 * 64.0 + 0.07 * 570.0 + 0.16 * 594.0 + 0.2 * 1518.0),
        ] {
            let found = Imix::preset(name).unwrap().mean_octets();
            assert!((found - mean).abs() < 0.006, "{name}: {found}, not {mean}");
        }
    }

    #[test]
    fn sequences_have_no_bunches() {
        assert_eq!(Imix::preset("imix").unwrap().genome(), "A=64 B=570 C=1518: ABAABACABABA");
        for preset in PRESETS {
            let mix = Imix::preset(preset.name).unwrap();
            let total: u32 = preset.parts.iter().map(|&(_, weight)| weight).sum();
            assert_eq!(mix.sequence.len(), total as usize);
            for (letter, &(octets, weight)) in preset.parts.iter().enumerate() {
                let count = mix.sizes().filter(|size| size.octets() == octets).count();
                assert_eq!(count, weight as usize, "{}", preset.name);
                // At no place does a letter lag or lead by two frames or more.
                let mut placed = 0.0;
                for (at, &place) in mix.sequence.iter().enumerate() {
                    placed += f64::from(u8::from(usize::from(place) == letter));
                    let due = (at + 1) as f64 * f64::from(weight) / f64::from(total);
                    assert!((placed - due).abs() < 2.0, "{} at {at}", preset.name);
                }
            }
        }
    }

    #[test]
    fn genomes_as_users_write_them() {
        let mix: Imix = "A=64 B=570 C=1518: ABAABA".parse().unwrap();
        assert_eq!(mix.sizes().map(FrameSize::octets).collect::<Vec<_>>(), [64, 570, 64, 64, 570, 64]);
        assert_eq!(mix.to_string(), "A=64 B=570 C=1518: ABAABA");
        let standard: Imix = "genome: aaag".parse().unwrap();
        assert_eq!(standard.sizes().map(FrameSize::octets).collect::<Vec<_>>(), [64, 64, 64, 1518]);
        assert_eq!(standard.to_string(), "a=64 g=1518: aaag");
        assert_eq!("imix-trex".parse::<Imix>().unwrap().to_string(), "imix-trex");
        for wrong in
            ["imix-nothing", "A=64:", "A=64: AB", "A=64 A=65: A", "AB=64: A", "A=x: A", "A=5: A", "z:z"]
        {
            assert!(wrong.parse::<Imix>().is_err(), "{wrong}");
        }
        let error = "imix-nothing".parse::<Imix>().unwrap_err().to_string();
        assert!(
            error.starts_with("there is no mix 'imix-nothing'; there are: imix, imix-nfvbench"),
            "{error}"
        );
    }

    proptest! {
        #[test]
        fn weights_are_exact(weights in proptest::collection::vec(0..60_u32, 1..6)) {
            let sequence = interleave(&weights);
            for (letter, &weight) in weights.iter().enumerate() {
                let count = sequence.iter().filter(|&&place| usize::from(place) == letter).count();
                prop_assert_eq!(count, weight as usize);
            }
        }

        #[test]
        fn parsing_never_panics(text in "[A-Ca-z=0-9: ]{0,20}") {
            if let Ok(mix) = text.parse::<Imix>() {
                prop_assert_eq!(mix.to_string().parse::<Imix>().unwrap(), mix);
            }
        }
    }
}
