//! Whether the bounds of a goal are told apart by their trials, or differ by chance.
//!
//! A search decides each load by itself. On a host that stalls now and then the share of lossy trials grows slowly with the
//! load: then which load is just held and which is not is luck, and bounds half a per cent apart are no such precision.
//!
//! The probability takes the trials as they are. It knows nothing of the bounds being those two loads that came out on either
//! side, by these very trials, nor of a load having no more trials once it is decided. Both make chance look smaller than it is:
//! bounds that are not told apart are in doubt, and those that are told apart are so by a little less than the level says.

use serde::{Deserialize, Serialize};

use super::bound::hits;
use super::criteria::Criteria;
use super::database::{Bounds, Database};
use crate::statistics::counts::{self, LEVEL};

/// What chance has to do with a goal's bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Apart {
    /// The probability of shares of high-loss trials at least as far apart when both bounds have the same (Fisher's exact
    /// test, one-sided). Less than it is: the bounds were chosen by the same trials.
    pub by_chance: f64,
    /// Where bounds are not told apart, the nearest loads around them that are, from the lower; absent where none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nearest: Option<[f64; 2]>,
}

impl Apart {
    pub(super) fn of(seen: &Database, criteria: &Criteria, bounds: Bounds) -> Option<Self> {
        let (lower, upper) = (bounds.lower?, bounds.upper?);
        let hits = |trials| hits(trials, criteria);
        let mut few = hits(seen.at(lower));
        let mut many = hits(seen.at(upper));
        let by_chance = counts::as_few(few, many);
        if by_chance <= 1.0 - LEVEL {
            return Some(Self { by_chance, nearest: None });
        }
        let mut below: Vec<_> = seen.loads().filter(|(load, _)| *load < lower).collect();
        let mut above: Vec<_> = seen.loads().filter(|(load, _)| *load > upper).collect();
        above.reverse();
        let steps = (below.len() + above.len()) as f64;
        let (mut from, mut to) = (lower.get(), upper.get());
        // Each step takes in the load that widens the interval least. Loss does not become less with the load, so what lies
        // on the way to a load makes it look less different than it is, not more. Every step is a comparison, so as many
        // times is chance given its chance (Bonferroni).
        let nearest = loop {
            let widened = |down: f64, up: f64| up / down;
            let down = below.last().map(|(load, _)| widened(load.get(), to));
            let up = above.last().map(|(load, _)| widened(from, load.get()));
            let is_down = match (down, up) {
                (Some(down), Some(up)) => down <= up,
                (down, None) if down.is_none() => break None,
                (down, _) => down.is_some(),
            };
            let (side, own, end) = match is_down {
                true => (&mut below, &mut few, &mut from),
                false => (&mut above, &mut many, &mut to),
            };
            let Some((load, trials)) = side.pop() else { break None };
            *own = own.and(hits(trials));
            *end = load.get();
            if counts::as_few(few, many) * steps <= 1.0 - LEVEL {
                break Some([from, to]);
            }
        };
        Some(Self { by_chance, nearest })
    }

    /// Whether trials tell the bounds apart.
    pub fn is_told(&self) -> bool {
        self.by_chance <= 1.0 - LEVEL
    }
}
