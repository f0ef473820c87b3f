//! The words of `StopFigures`: why more members bring no more, with the figures that show it, and what to do about it.

use capbench_judge::finding::sweep::stop_figures::{MembersBusy, StopFigures};
use capbench_statistics::thresholds::SCALABILITY_NUMBERS;

use super::percent_to_a_tenth;
use crate::naming::{self, many};
use crate::sentences::places;

/// The figures of a cause.
pub(super) fn figures(cause: &StopFigures) -> String {
    match cause {
        StopFigures::Load => "They read the whole load, so no more are needed.".into(),
        StopFigures::Generator { offered_pps, busiest_ratio } => format!(
            "The generator is the limit: it sends {}, of which they read all, and the busiest of them is busy for {} of the time.",
            naming::rate(*offered_pps),
            known_share(*busiest_ratio)
        ),
        StopFigures::Kernel { cpu, kernel_ratio, members } => {
            let cpu = match cpu {
                Some(cpu) => format!("CPU {cpu}"),
                None => "one CPU".into(),
            };
            format!(
                "The kernel's receive work is the limit: {cpu} does it for {} of the time, while members are busy for {}. More \
                 receive queues, or RPS to more CPUs, share that work.",
                known_share(*kernel_ratio),
                busy_range(members)
            )
        }
        StopFigures::Sharing { excess_ratio, idlest_ratio } => format!(
            "The sharing of the frames is the limit: one member gets {} more than an equal share and loses some, while another is \
             busy for {} of the time. More flows share more evenly; --fanout lb does so with any number of flows, and splits each.",
            known_share(*excess_ratio),
            known_share(*idlest_ratio)
        ),
        StopFigures::SharedCpus { cpus } => format!(
            "The CPUs are the limit: these members share {}, all of whose time they use.",
            many(*cpus as u64, "CPU", "CPUs")
        ),
        StopFigures::Contention { of_one_alone } => format!(
            "All members are busy, and each reads {} of what one alone reads: contention, such as the lock of the fanout group or \
             the bandwidth of memory, is the larger part.",
            known_share(*of_one_alone)
        ),
        StopFigures::Coherence { of_one_alone } => format!(
            "All members are busy, and each reads {} of what one alone reads: coherence is the larger part: they slow each other, \
             as with shared cache lines.",
            known_share(*of_one_alone)
        ),
        StopFigures::Members => format!(
            "All members are busy, and each reads less than before: they share something. At least {SCALABILITY_NUMBERS} numbers of \
             members show whether it is contention or coherence."
        ),
        StopFigures::Unknown { members, loss_ratio, place } => {
            let place = match place {
                Some(place) => format!(", most {}", places::words(*place)),
                None => String::new(),
            };
            format!(
                "The figures do not show why: members are busy for {} of the time, and {} of the frames are lost{place}. The table \
                 of members has the figures of each.",
                busy_range(members),
                percent_to_a_tenth(*loss_ratio)
            )
        }
    }
}

/// A share in percent, if a trial knows it.
fn known_share(ratio: Option<f64>) -> String {
    match ratio {
        Some(ratio) => percent_to_a_tenth(ratio),
        None => "an unknown share".into(),
    }
}

/// For which share of the time members are busy, from the idlest to the busiest.
fn busy_range(members: &MembersBusy) -> String {
    let busiest = known_share(members.busiest_ratio);
    match members.idlest_ratio.filter(|_| members.busiest_ratio.is_some()).map(percent_to_a_tenth) {
        Some(idlest) if idlest != busiest => format!("{idlest} to {busiest}"),
        _ => busiest,
    }
}

#[cfg(test)]
mod tests {
    use super::{MembersBusy, StopFigures, busy_range, figures};
    use capbench_model::places::Place;

    #[test]
    fn causes_that_are_no_part_of_the_law_have_their_figures() {
        let members = MembersBusy { idlest_ratio: Some(0.25), busiest_ratio: Some(0.5) };
        assert_eq!(figures(&StopFigures::Load), "They read the whole load, so no more are needed.");
        assert_eq!(
            figures(&StopFigures::SharedCpus { cpus: 2 }),
            "The CPUs are the limit: these members share 2 CPUs, all of whose time they use."
        );
        assert_eq!(
            figures(&StopFigures::Members),
            "All members are busy, and each reads less than before: they share something. At least 4 numbers of members show \
             whether it is contention or coherence."
        );
        assert_eq!(
            figures(&StopFigures::Generator { offered_pps: 4.5e6, busiest_ratio: Some(0.788) }),
            "The generator is the limit: it sends 4,500,000 packets/s, of which they read all, and the busiest of them is busy for \
             78.8 % of the time."
        );
        assert_eq!(
            figures(&StopFigures::Kernel { cpu: Some(1), kernel_ratio: Some(1.0), members: members.clone() }),
            "The kernel's receive work is the limit: CPU 1 does it for 100 % of the time, while members are busy for 25 % to 50 %. \
             More receive queues, or RPS to more CPUs, share that work."
        );
        assert_eq!(
            figures(&StopFigures::Sharing { excess_ratio: Some(0.333), idlest_ratio: Some(0.0) }),
            "The sharing of the frames is the limit: one member gets 33.3 % more than an equal share and loses some, while another \
             is busy for 0 % of the time. More flows share more evenly; --fanout lb does so with any number of flows, and splits each."
        );
        let unknown = StopFigures::Unknown { members, loss_ratio: 0.125, place: Some(Place::Backlog) };
        assert_eq!(
            figures(&unknown),
            "The figures do not show why: members are busy for 25 % to 50 % of the time, and 12.5 % of the frames are lost, most in \
             the softirq backlog. The table of members has the figures of each."
        );
    }

    #[test]
    fn causes_that_the_law_shows_have_the_part_that_each_member_reads() {
        let of_one_alone = Some(0.624);
        assert_eq!(
            figures(&StopFigures::Contention { of_one_alone }),
            "All members are busy, and each reads 62.4 % of what one alone reads: contention, such as the lock of the fanout group \
             or the bandwidth of memory, is the larger part."
        );
        assert_eq!(
            figures(&StopFigures::Coherence { of_one_alone }),
            "All members are busy, and each reads 62.4 % of what one alone reads: coherence is the larger part: they slow each \
             other, as with shared cache lines."
        );
    }

    #[test]
    fn a_figure_that_a_trial_does_not_know_is_unknown() {
        let unknown = MembersBusy { idlest_ratio: None, busiest_ratio: None };
        assert_eq!(busy_range(&unknown), "an unknown share");
        let text = figures(&StopFigures::Kernel { cpu: None, kernel_ratio: None, members: unknown });
        assert!(text.contains("one CPU does it for an unknown share of the time"), "{text}");
    }
}
