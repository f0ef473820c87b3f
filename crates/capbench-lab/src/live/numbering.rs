//! Numbers of a run's trials, also of a run that continues an earlier one.

/// The numbers so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbering {
    /// Number of the last trial, also of an earlier run that this run continues.
    pub last: u32,
    /// Whether this run has had a trial.
    has_begun: bool,
}

impl Numbering {
    /// Numbers a trial. Returns whether it is the first of this run.
    pub fn advance(&mut self) -> bool {
        self.last += 1;
        !std::mem::replace(&mut self.has_begun, true)
    }
}

#[cfg(test)]
mod tests {
    use super::Numbering;

    #[test]
    fn a_run_that_is_gone_on_with_has_a_first_trial_with_the_next_number() {
        let mut numbering = Numbering { last: 40, ..Numbering::default() };
        assert_eq!((numbering.advance(), numbering.last), (true, 41));
        assert_eq!((numbering.advance(), numbering.last), (false, 42));
    }
}
