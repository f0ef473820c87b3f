//! The frame sizes and their order: a repeating sequence fixed before the trial.

use std::fmt;
use std::str::FromStr;

use crate::{FrameError, FrameLayout, FrameSize, Imix, Result};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

/// Sizes that a random sequence draws before it repeats.
const RANDOM_PERIOD: usize = 1 << 16;

/// The seed of a random sequence without one.
const DEFAULT_SEED: u64 = 1;

const WANTED: &str = "frame sizes: 64, 64,128,1518, 64-1518/100 (steps), random:64-1518[:seed], runt:62, or a mix such as imix";

/// The requested sizes. [`fmt::Display`] writes the format that [`FromStr`] parses.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub enum Sizes {
    /// One size.
    Fixed(FrameSize),
    /// These sizes in turn.
    List(Vec<FrameSize>),
    /// Uniformly distributed sizes, both bounds included, drawn by xoshiro256++ from the seed. The same on every host.
    Random {
        /// The smallest size.
        from: FrameSize,
        /// The largest size.
        to: FrameSize,
        /// The seed.
        seed: u64,
    },
    /// `from`, `from + step`, and so on, up to `to` if a step reaches it.
    Incremental {
        /// The first and smallest size.
        from: FrameSize,
        /// The largest size.
        to: FrameSize,
        /// The step in octets.
        step: u16,
    },
    /// A mix.
    Imix(Imix),
}

/// One period of the sizes that are sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SizeSequence {
    sizes: Box<[FrameSize]>,
    is_raised: bool,
}

impl Sizes {
    /// The sequence for a layout: [`Self::sequence_from`] its minimum.
    ///
    /// # Errors
    /// As there.
    pub fn sequence(&self, layout: &FrameLayout) -> Result<SizeSequence> {
        self.sequence_from(layout.minimum_size(), layout)
    }

    /// The sequence for headers that need frames of this minimum size.
    ///
    /// Sizes of a mixture (list, random, incremental, mix) below the legal minimum or that of the headers are raised to it:
    /// [`SizeSequence::is_raised`]. A single size is never changed.
    ///
    /// # Errors
    /// A single size below the minimum, or an empty list.
    pub fn sequence_from(&self, minimum: FrameSize, headers: &dyn fmt::Display) -> Result<SizeSequence> {
        let mut sizes = self.asked();
        if sizes.is_empty() {
            return Err(FrameError::parse("", WANTED));
        }
        if let &Self::Fixed(asked) = self {
            if asked < minimum {
                return Err(FrameError::TooSmallForLayout {
                    asked: asked.octets(),
                    layout: headers.to_string(),
                    least: minimum.octets(),
                });
            }
            return Ok(SizeSequence { sizes: sizes.into(), is_raised: false });
        }
        let least = minimum.max(FrameSize::LEAST);
        let is_raised = sizes.iter().any(|size| *size < least);
        sizes.iter_mut().for_each(|size| *size = least.max(*size));
        Ok(SizeSequence { sizes: sizes.into(), is_raised })
    }

    /// One period, as requested.
    fn asked(&self) -> Vec<FrameSize> {
        match self {
            Self::Fixed(size) => vec![*size],
            Self::List(sizes) => sizes.clone(),
            Self::Random { from, to, seed } => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(*seed);
                let range = u64::from(to.octets().saturating_sub(from.octets())) + 1;
                (0..RANDOM_PERIOD).filter_map(|_| drawn(&mut random, *from, range)).collect()
            }
            Self::Incremental { from, to, step } => (from.octets()..=to.octets())
                .step_by(usize::from(*step).max(1))
                .filter_map(|octets| FrameSize::try_from(octets).ok())
                .collect(),
            Self::Imix(mix) => mix.sizes().collect(),
        }
    }
}

/// A random size out of `range` sizes from `from` on, by multiplication with a 64-bit fraction (bias below 2^-47).
fn drawn(random: &mut Xoshiro256PlusPlus, from: FrameSize, range: u64) -> Option<FrameSize> {
    let above = (u128::from(random.next_u64()) * u128::from(range)) >> 64;
    FrameSize::try_from(from.octets() + above as u16).ok()
}

impl SizeSequence {
    /// The sizes of one period, in order.
    pub fn sizes(&self) -> &[FrameSize] {
        &self.sizes
    }

    /// Whether sizes were raised to what the headers need.
    pub fn is_raised(&self) -> bool {
        self.is_raised
    }

    /// Mean size in octets, FCS included.
    pub fn mean_octets(&self) -> f64 {
        let sum: u64 = self.sizes.iter().map(|size| u64::from(size.octets())).sum();
        sum as f64 / self.sizes.len() as f64
    }

    /// The largest size.
    pub fn largest(&self) -> FrameSize {
        self.sizes.iter().copied().max().unwrap_or(FrameSize::LEAST)
    }

    /// The smallest size.
    pub fn least(&self) -> FrameSize {
        self.sizes.iter().copied().min().unwrap_or(FrameSize::LEAST)
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) if size.is_runt() => write!(f, "runt:{size}"),
            Self::Fixed(size) => size.fmt(f),
            Self::List(sizes) => {
                for (index, size) in sizes.iter().enumerate() {
                    write!(f, "{}{size}", if index == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Self::Random { from, to, seed } => write!(f, "random:{from}-{to}:{seed}"),
            Self::Incremental { from, to, step } => write!(f, "{from}-{to}/{step}"),
            Self::Imix(mix) => mix.fmt(f),
        }
    }
}

impl TryFrom<String> for Sizes {
    type Error = FrameError;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.to_string()
    }
}

impl FromStr for Sizes {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        let text = text.trim();
        if let Some(range) = text.strip_prefix("random:") {
            let (range, seed) = match range.split_once(':') {
                Some((range, seed)) => (range, seed.parse().map_err(|_| FrameError::parse(text, WANTED))?),
                None => (range, DEFAULT_SEED),
            };
            let (from, to) = bounds(range)?;
            return Ok(Self::Random { from, to, seed });
        }
        if let Some(octets) = text.strip_prefix("runt:") {
            let octets = octets.parse().map_err(|_| FrameError::parse(text, WANTED))?;
            return FrameSize::runt(octets).map(Self::Fixed);
        }
        // Text that begins with a digit is a list of sizes; other text is a mix.
        if !text.starts_with(|first: char| first.is_ascii_digit()) {
            let is_mix = text.starts_with("imix") || text.contains(':');
            return if is_mix { text.parse().map(Self::Imix) } else { Err(FrameError::parse(text, WANTED)) };
        }
        if let Some((range, step)) = text.split_once('/') {
            let (from, to) = bounds(range)?;
            let step = step.parse().ok().filter(|&step| step > 0);
            return Ok(Self::Incremental {
                from,
                to,
                step: step.ok_or_else(|| FrameError::parse(text, WANTED))?,
            });
        }
        if text.contains(',') {
            return text.split(',').map(str::parse).collect::<Result<_>>().map(Self::List);
        }
        text.parse().map(Self::Fixed).map_err(|error| match error {
            FrameError::Parse { .. } => FrameError::parse(text, WANTED),
            other => other,
        })
    }
}

/// `64-1518`.
fn bounds(text: &str) -> Result<(FrameSize, FrameSize)> {
    let wrong = || FrameError::parse(text, "two frame sizes, the smaller first, such as 64-1518");
    let (from, to) = text.split_once('-').ok_or_else(wrong)?;
    let (from, to) = (from.parse()?, to.parse()?);
    if from <= to { Ok((from, to)) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Network, Transport, VlanTag};

    fn octets(text: &str, layout: &FrameLayout) -> Vec<u16> {
        let sequence = text.parse::<Sizes>().unwrap().sequence(layout).unwrap();
        sequence.sizes().iter().map(|size| size.octets()).collect()
    }

    #[test]
    fn sizes_as_users_write_them() {
        let layout = FrameLayout::default();
        assert_eq!(octets("64", &layout), [64]);
        assert_eq!(octets("64,128,1518", &layout), [64, 128, 1518]);
        assert_eq!(octets("64-364/100", &layout), [64, 164, 264, 364]);
        assert_eq!(octets("64-300/100", &layout), [64, 164, 264]);
        assert_eq!(octets("runt:62", &layout), [62]);
        assert_eq!(octets("A=64 B=128: AAB", &layout), [64, 64, 128]);
        for text in
            ["64", "64,128,1518", "64-1518/100", "random:64-1518:7", "runt:62", "imix-cesnet", "a=64: aa"]
        {
            let sizes: Sizes = text.parse().unwrap();
            assert_eq!(sizes.to_string(), text);
        }
        assert_eq!("random:64-1518".parse::<Sizes>().unwrap().to_string(), "random:64-1518:1");
    }

    #[test]
    fn sizes_that_mean_nothing_are_refused() {
        for text in [
            "",
            "63",
            "small",
            "64,",
            "64,63",
            "1518-64/10",
            "64-1518",
            "64-128/0",
            "random:64",
            "random:a-b",
        ] {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
        for text in ["random:64-1518:x", "runt:64", "imix-none", "64/3", "70000"] {
            assert!(text.parse::<Sizes>().is_err(), "{text}");
        }
        assert!("63".parse::<Sizes>().unwrap_err().to_string().contains("64 to 65535"));
    }

    #[test]
    fn random_sizes_are_the_same_everywhere() {
        let layout = FrameLayout::default();
        let first: Vec<u16> = octets("random:64-1518:7", &layout)[..6].to_vec();
        assert_eq!(first, [144, 314, 1108, 685, 1466, 741]);
        assert_ne!(octets("random:64-1518:7", &layout), octets("random:64-1518:8", &layout));
        let few = octets("random:64-67", &layout);
        for size in 64..=67 {
            let share = few.iter().filter(|&&found| found == size).count() as f64 / few.len() as f64;
            assert!((share - 0.25).abs() < 0.01, "{size}: {share}");
        }
        assert_eq!(octets("random:70-70", &layout)[..3], [70, 70, 70]);
    }

    #[test]
    fn mixtures_are_raised_and_say_so() {
        let raised = |text: &str, layout: &FrameLayout| {
            let sequence = text.parse::<Sizes>().unwrap().sequence(layout).unwrap();
            (sequence.is_raised(), sequence.least().octets())
        };
        let layout = FrameLayout::default();
        assert_eq!((raised("imix-ipv6", &layout), raised("imix", &layout)), ((true, 64), (false, 64)));
        let vlan = Some(VlanTag { tci: 1 });
        let tagged = FrameLayout { vlan, network: Network::V6, transport: Transport::Tcp, ..layout };
        assert_eq!(raised("imix", &tagged), (true, 86));
    }

    #[test]
    fn one_size_is_a_demand() {
        let layout = FrameLayout { network: Network::V6, ..FrameLayout::default() };
        let error = "64".parse::<Sizes>().unwrap().sequence(&layout).unwrap_err().to_string();
        assert_eq!(error, "frame size 64 is too small for IPv6/UDP: at least 80 octets, the FCS included");
        assert!(Sizes::List(Vec::new()).sequence(&layout).is_err());
    }

    proptest! {
        #[test]
        fn random_sizes_stay_in_bounds(from in 64..1000_u16, more in 0..9000_u16, seed: u64) {
            let (from, to) = (FrameSize::try_from(from).unwrap(), FrameSize::try_from(from + more).unwrap());
            let sizes = Sizes::Random { from, to, seed }.sequence(&FrameLayout::default()).unwrap();
            prop_assert!(sizes.least() >= from && sizes.largest() <= to);
            prop_assert_eq!(sizes.sizes().len(), RANDOM_PERIOD);
        }

        #[test]
        fn parsing_never_panics(text in "[a-z0-9,:/-]{0,16}") {
            if let Ok(sizes) = text.parse::<Sizes>() {
                prop_assert_eq!(sizes.to_string().parse::<Sizes>().unwrap(), sizes);
            }
        }
    }
}
