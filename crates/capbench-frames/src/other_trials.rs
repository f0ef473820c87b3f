//! Frames of trials that the user did not ask for.

use crate::TrialId;

/// Number of trials that are counted by their numbers.
const MOST: usize = 4;

/// Frames by the trial in their stamps. Counts the first few trials; a wrong number on a command line shows one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct OtherTrials([Option<(TrialId, u64)>; MOST]);

impl OtherTrials {
    /// Counts a frame of a trial.
    pub fn note(&mut self, trial: TrialId) {
        let row = self.0.iter_mut().find(|row| row.is_none_or(|(known, _)| known == trial));
        if let Some(row) = row {
            row.get_or_insert((trial, 0)).1 += 1;
        }
    }

    /// The trials in the order in which they came, each with its frames.
    pub fn iter(&self) -> impl Iterator<Item = (TrialId, u64)> {
        self.0.iter().copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST, OtherTrials};
    use crate::TrialId;

    #[test]
    fn the_first_trials_are_counted_each() {
        let mut others = OtherTrials::default();
        assert_eq!(others.iter().count(), 0);
        for trial in [7, 9, 7, 1, 2, 3, 7] {
            others.note(TrialId(trial));
        }
        let counted: Vec<_> = others.iter().map(|(trial, frames)| (trial.0, frames)).collect();
        assert_eq!((counted.len(), &counted[..2]), (MOST, &[(7, 3), (9, 1)][..]));
    }
}
