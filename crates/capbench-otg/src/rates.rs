//! Rates of ports and flows, from counts at equal intervals.

use std::time::Instant;

/// Counts at one moment: frames and octets, sent and received.
pub type Counts = [u64; 4];

/// Rates between the last two looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    last: Option<(Instant, Counts)>,
    per_s: Option<[f64; 4]>,
}

impl Rates {
    /// Notes the counts now.
    pub fn note(&mut self, counts: Counts) {
        let now = Instant::now();
        if let Some((then, before)) = self.last {
            let seconds = (now - then).as_secs_f64().max(1e-9);
            self.per_s =
                Some(std::array::from_fn(|at| counts[at].saturating_sub(before[at]) as f64 / seconds));
        }
        self.last = Some((now, counts));
    }

    /// Per second, in the order of the counts; `None` before the second look.
    pub fn per_s(&self) -> Option<[f64; 4]> {
        self.per_s
    }
}
