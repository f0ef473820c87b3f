//! The words of `SearchWarning`: doubts about a search.

use std::time::Duration;

use capbench_judge::search::SearchOutcome;
use capbench_judge::search::warning::{Allowance, ChanceToSuffice, SearchNeed, SearchWarning, SelfTestCause};
use capbench_judge::thresholds::SHORT_FINAL_TRIAL;
use capbench_model::figures::grouped;

use super::goal_help::width_words;
use crate::sentences::cpu_tasks::load_depends_words;

/// The doubts about a search. Files of earlier versions have their words only.
pub fn of_search(search: &SearchOutcome) -> Vec<String> {
    if search.warning_facts.is_empty() {
        return search.warnings.clone();
    }
    search.warning_facts.iter().map(words).collect()
}

/// A doubt in words, without a capital letter and a full stop.
pub fn words(warning: &SearchWarning) -> String {
    match warning {
        SearchWarning::WidthBelowLoss { goal, width, loss_ratio } => format!(
            "goal {goal}: its width {} is below the loss ratio {loss_ratio} of another goal, which RFC 9971 advises against",
            width_words(*width)
        ),
        SearchWarning::UnequalDurations => {
            "goals have different trial durations: they share fewer trials than they could (RFC 9971)".into()
        }
        SearchWarning::ShortTrials { goal, duration_ns } => format!(
            "goal {goal}: trials of {:?}; RFC 2544 section 24 asks for {} s at least",
            Duration::from_nanos(*duration_ns),
            SHORT_FINAL_TRIAL.as_secs()
        ),
        SearchWarning::MayNotSuffice { allowed_s, allowance, chance, need } => {
            let allowed = humantime::format_duration(Duration::from_secs_f64(*allowed_s));
            let of_traffic = match allowance {
                Allowance::Time => "",
                Allowance::Traffic => " of traffic",
            };
            let need = need_words(need);
            match chance {
                ChanceToSuffice::Hardly => {
                    format!("{allowed}{of_traffic} will hardly suffice: the goals need {need}, or more")
                }
                ChanceToSuffice::HardlyBelowMaximum => format!(
                    "{allowed}{of_traffic} will hardly suffice unless the maximum load is sustained: the goals can need {need}, or \
                     more on a noisy host"
                ),
                ChanceToSuffice::Perhaps => {
                    format!(
                        "{allowed}{of_traffic} may not suffice: the goals can need {need}, or more on a noisy host"
                    )
                }
            }
        }
        SearchWarning::UnusedTrials { trials } => {
            format!("{trials} stored trials are of no use to this search: it asked for other ones")
        }
        SearchWarning::LoadDepends { because } => {
            let because = load_depends_words(because);
            format!("the offered load depends on the receiver, so loss is not that of a wire: {because}")
        }
        SearchWarning::UnsentFrames { trials, all_trials } => format!(
            "the generator left frames unsent, which count as lost, in {} of {all_trials} trials: {trials:?}",
            trials.len()
        ),
        SearchWarning::LastReadUnknown { trials, all_trials } => format!(
            "{trials} of {all_trials} trials do not show when the last frame was read: a load that they sustained may be sustained \
             only while buffers have room"
        ),
        SearchWarning::SelfTestRate { planned_pps, offered_pps, cause } => {
            let shares: Vec<String> =
                offered_pps.iter().map(|offered| share(*offered, *planned_pps)).collect();
            let cause = match cause {
                SelfTestCause::Host => ": the host, not the generator",
                SelfTestCause::NotAtFirst => ": sustained, but not at the first try",
                SelfTestCause::NotSustained => ": not sustained",
            };
            format!(
                "self-test: of {} packets/s by plan the generator sent {}{cause}",
                grouped(*planned_pps),
                shares.join(", ")
            )
        }
        SearchWarning::SelfTestUnpaced { offered_pps } => {
            let rates: Vec<String> = offered_pps.iter().map(|pps| grouped(*pps)).collect();
            format!(
                "self-test: without a plan the generator sent {} packets/s: the host, not the generator",
                rates.join(", ")
            )
        }
        SearchWarning::SelfTestByPlan { paced_pps, unpaced_pps } => format!(
            "self-test: by plan the generator reached {} of what it sent without one; it is disturbed, or keeping to a plan costs \
             that much here",
            share(*paced_pps, *unpaced_pps)
        ),
    }
}

fn need_words(need: &SearchNeed) -> String {
    let SearchNeed { trials, traffic_s, time_s } = need;
    format!("{trials} trials, {traffic_s:.0} s of traffic and about {time_s:.0} s in all")
}

/// `98.5 %`.
fn share(part: f64, whole: f64) -> String {
    format!("{:.1} %", part * 100.0 / whole)
}

#[cfg(test)]
mod tests {
    use super::{Allowance, ChanceToSuffice, SearchNeed, SearchWarning, SelfTestCause, words};

    #[test]
    fn a_self_test_that_fell_short_is_said_with_every_try() {
        let rate = SearchWarning::SelfTestRate {
            planned_pps: 1000.0,
            offered_pps: vec![985.0, 690.0],
            cause: SelfTestCause::Host,
        };
        assert_eq!(
            words(&rate),
            "self-test: of 1,000 packets/s by plan the generator sent 98.5 %, 69.0 %: the host, not the generator"
        );
        assert_eq!(
            words(&SearchWarning::SelfTestUnpaced { offered_pps: vec![700.0, 1000.0] }),
            "self-test: without a plan the generator sent 700, 1,000 packets/s: the host, not the generator"
        );
        assert_eq!(
            words(&SearchWarning::SelfTestByPlan { paced_pps: 700.0, unpaced_pps: 1000.0 }),
            "self-test: by plan the generator reached 70.0 % of what it sent without one; it is disturbed, or keeping to a plan \
             costs that much here"
        );
    }

    #[test]
    fn an_allowance_is_said_with_what_the_goals_need() {
        let need = SearchNeed { trials: 40, traffic_s: 20.4, time_s: 100.0 };
        let warning =
            |allowance, chance| SearchWarning::MayNotSuffice { allowed_s: 90.0, allowance, chance, need };
        assert_eq!(
            words(&warning(Allowance::Traffic, ChanceToSuffice::Perhaps)),
            "1m 30s of traffic may not suffice: the goals can need 40 trials, 20 s of traffic and about 100 s in all, or more on \
             a noisy host"
        );
        assert_eq!(
            words(&warning(Allowance::Time, ChanceToSuffice::Hardly)),
            "1m 30s will hardly suffice: the goals need 40 trials, 20 s of traffic and about 100 s in all, or more"
        );
    }
}
