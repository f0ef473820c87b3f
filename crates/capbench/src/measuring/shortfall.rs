//! Says why a run that was measured ends with exit code 3 or 4, where the report has no sentence about it: the user's limits are not
//! saved.

use capbench_judge::recommendation::sustains;
use capbench_judge::sustained::Sustains;
use capbench_model::figures::{grouped, percent};
use capbench_model::requirement::Requirement;
use capbench_results::Results;

use crate::exit::Exit;

/// A line for each limit of the user that the results do not keep, or do not show to be kept.
pub fn lines(exit: Exit, results: &Results, requirements: &[Requirement], max_loss: f64) -> Vec<String> {
    if !matches!(exit, Exit::LossOverLimit | Exit::Inconclusive) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    if exit == Exit::LossOverLimit
        && let Some(whole) = results.soak.as_ref().and_then(|record| record.whole.as_ref())
    {
        let sent = whole.counts.sent;
        lines.push(format!(
            "--max-loss {max_loss}: {} of {sent} frames that were sent were lost",
            whole.lost()
        ));
    }
    for Requirement { method, rate } in requirements {
        let loss = if max_loss > 0.0 {
            format!("with up to {} loss", percent(max_loss))
        } else {
            "without loss".into()
        };
        let load = format!("{} packets/s {loss}", grouped(rate.get()));
        match sustains(&results.trials, &results.searches, method, rate.get(), max_loss) {
            Sustains::Yes => {}
            Sustains::No => lines.push(format!("requirement not met: {method} does not sustain {load}")),
            Sustains::Unknown => lines.push(format!(
                "requirement not decided: the trials do not show whether {method} sustains {load}"
            )),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use capbench_results::for_tests;

    use super::*;

    #[test]
    fn each_requirement_that_is_not_met_is_a_line() {
        let results = for_tests::bench(Vec::new(), Vec::new());
        let requirements = ["recv:400k".parse().unwrap(), "packet-v3:1M".parse().unwrap()];
        let lines = |exit, max_loss| lines(exit, &results, &requirements, max_loss);
        assert_eq!(
            lines(Exit::Inconclusive, 0.0),
            [
                "requirement not decided: the trials do not show whether recv sustains 400,000 packets/s without loss",
                "requirement not decided: the trials do not show whether packet-v3 sustains 1,000,000 packets/s without loss",
            ]
        );
        let with_loss = lines(Exit::Inconclusive, 0.01);
        assert!(with_loss.iter().all(|line| line.ends_with("with up to 1.0 % loss")), "{with_loss:?}");
        assert_eq!(lines(Exit::Stopped(2), 0.0), [""; 0], "a run that was stopped is not judged");
    }
}
