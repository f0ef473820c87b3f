//! The words of `Statement`: what a run states about itself, such as how the test bed was prepared.

use capbench_model::statement::{
    CableCheck, FrameEnds, GuardCounts, LeftOutOfBench, PartOfBench, Statement, Traced, TracedCost,
    TracedDrops,
};
use capbench_results::Results;

use super::cpu_tasks::cpu_tasks_words;

/// All statements of a run. Files of earlier versions have their words only.
pub(crate) fn of_run(results: &Results) -> Vec<String> {
    if results.statement_facts.is_empty() {
        return results.statements.clone();
    }
    results.statement_facts.iter().map(words).collect()
}

/// A statement in words, without a capital letter and a full stop.
pub fn words(statement: &Statement) -> String {
    match statement {
        Statement::Text { text } => text.clone(),
        Statement::Resumed { after_trials, at } => {
            format!("interrupted after {after_trials} trials and gone on with at {at}")
        }
        Statement::NotMeasured(left_out) => format!("not measured: {}", left_out_words(left_out)),
        Statement::VirtualLink => {
            "the link is virtual (veth): its rates are not those of a network card".into()
        }
        Statement::SimulatedPath => "a simulated path: no network was used".into(),
        Statement::Placement { placement, is_decided_elsewhere, cpus, set_by } => {
            let decided = match is_decided_elsewhere {
                true => ", where the driver or a method's name decides",
                false => "",
            };
            let mut text = format!("placement {placement}{decided}: {}", cpu_tasks_words(cpus));
            if let Some(setting) = set_by {
                let read_back = match &setting.read_back[..] {
                    [] => String::new(),
                    cpus => format!(", read back: {}", numbers(cpus)),
                };
                text += &format!(" (set by {}{read_back})", setting.by);
            }
            text
        }
        Statement::GeneratorThreads { cpus } => cpu_tasks_words(cpus),
        Statement::MembersShareCpus { method, cpus } => {
            format!("{method}: its members share {cpus} CPUs: no more of them run at once")
        }
        Statement::Traced(traced) => traced_words(traced),
        Statement::NotTraced { because } => format!(
            "not traced: {because}; so losses in the network stack are unknown, and the kernel's CPU time comes in ticks"
        ),
        Statement::Guards(counts) => guard_words(counts),
        Statement::GeneratorAbsent { error } => format!("the run went on without a generator: {error}"),
        Statement::OtherBuild { location } => {
            format!("{location} runs another build of capbench than the controller")
        }
        Statement::CableCheck(check) => cable_check_words(check),
        Statement::CountedByAgents { senders, receiver } => {
            format!("{senders} sent and {receiver} received, each counted by an agent there")
        }
        Statement::SentUnverified { location } => {
            format!("{location}: what it sent is its own count, which nobody verified")
        }
        Statement::AgentThreadsNotMoved { error } => {
            format!("the agent's own threads may run on CPUs that are measured: {error}")
        }
        Statement::AgentThreadsOnMeasuredCpus => {
            "the trials measure every CPU that the agent may use, so its own threads share them".into()
        }
        Statement::ConnectionInterruptsUnknown { because } => {
            format!("interrupts of the controller's connection may go to CPUs that are measured: {because}")
        }
        Statement::ConnectionInterruptsOnMeasuredCpus { interface, cpus } => format!(
            "interrupts of {interface}, the interface of the controller's connection, go to CPU {}, which is measured",
            numbers(cpus)
        ),
        Statement::OfAgent { location, statement } => format!("{location}: {}", words(statement)),
    }
}

/// What a bench left out; the words follow "not measured".
pub(crate) fn left_out_words(left_out: &LeftOutOfBench) -> String {
    let part = match left_out.part {
        PartOfBench::Trials => "some of its trials, to end in time",
        PartOfBench::Searches => "some of its searches, to end in time",
        PartOfBench::Everything => "no time was left",
    };
    format!("{} B, placement {}: {part}", left_out.frame_size, left_out.placement)
}

fn numbers(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// What the tracer sees, and what it costs.
fn traced_words(traced: &Traced) -> String {
    let drops = match &traced.drops {
        TracedDrops::None { because } => {
            format!("not drops: {because}; so losses in the network stack are unknown")
        }
        TracedDrops::ByReason => "drops with the kernel's reasons (skb:kfree_skb)".into(),
        TracedDrops::ByFunction => {
            "drops by the kernel's functions, as it gives no reasons before Linux 5.17".into()
        }
    };
    let ends = match &traced.frame_ends {
        FrameEnds::Consumed => {
            "tc consumes frames behind the packet sockets of capbench's methods: they are no drops".into()
        }
        FrameEnds::Dropped => "every frame that the stack does not need is a drop".into(),
        FrameEnds::NotConsumed { because } => {
            format!("every frame that the stack does not need is a drop, as tc cannot consume it ({because})")
        }
    };
    let softirqs = match &traced.no_softirqs_because {
        None => "every receive softirq at its beginning and end, in trials that time them".into(),
        Some(because) => {
            format!("not the receive softirq: {because}; so the kernel's CPU time comes in ticks")
        }
    };
    let cost = match &traced.cost {
        TracedCost::Measured { times } => format!(
            "the tracer itself takes {times}, by the kernel's run-time statistics of BPF programs before the first trial"
        ),
        TracedCost::Unknown { because } => format!("what the tracer itself costs is unknown: {because}"),
        TracedCost::NotMeasured => "what the tracer itself costs has not been measured".into(),
    };
    format!(
        "traced: {drops}, XDP exceptions and failed redirects on the trial's two interfaces; {ends}; {softirqs}; {cost}"
    )
}

/// How many attempts were repeated, and how many probes were sent.
fn guard_words(counts: &GuardCounts) -> String {
    let GuardCounts { repeats, most_repeats, repeat_ratio, probes, most_probes } = counts;
    format!(
        "guards: {repeats} attempts were discarded and repeated because the host disturbed them (up to {most_repeats} times each, \
         within {:.0} % more time), and {probes} probes were sent after overloads (up to {most_probes} each)",
        repeat_ratio * 100.0
    )
}

/// What arrived of the frames that checked the cable.
fn cable_check_words(check: &CableCheck) -> String {
    let by = match check.generators {
        1 => String::new(),
        several => format!(" by {several} generators"),
    };
    let arrived = match check.lost {
        0 => "each arrived once and intact".into(),
        lost => format!(
            "{lost} were lost in the receiving interface, as its counters say, the others arrived once and intact"
        ),
    };
    let foreign = match check.foreign {
        0 => "no foreign frame".into(),
        1 => "1 foreign frame".into(),
        some => format!("{some} foreign frames"),
    };
    let pauses = match check.pauses {
        0 => String::new(),
        1 => " and 1 pause frame".into(),
        some => format!(" and {some} pause frames"),
    };
    format!("cable check: {} frames were sent{by}, {arrived}, with {foreign}{pauses}", check.sent)
}

#[cfg(test)]
mod tests {
    use super::{CableCheck, FrameEnds, Statement, Traced, TracedCost, TracedDrops, words};

    #[test]
    fn foreign_frames_and_pause_frames_are_in_the_check_of_the_cable() {
        let good = CableCheck { generators: 1, sent: 2000, lost: 0, foreign: 0, pauses: 0 };
        assert_eq!(
            words(&Statement::CableCheck(good)),
            "cable check: 2000 frames were sent, each arrived once and intact, with no foreign frame"
        );
        let with_losses = CableCheck { generators: 2, lost: 1, foreign: 1, pauses: 6, ..good };
        assert_eq!(
            words(&Statement::CableCheck(with_losses)),
            "cable check: 2000 frames were sent by 2 generators, 1 were lost in the receiving interface, as its counters say, the \
             others arrived once and intact, with 1 foreign frame and 6 pause frames"
        );
    }

    #[test]
    fn the_tracer_says_what_it_sees_and_what_it_costs() {
        let traced = Traced {
            drops: TracedDrops::ByReason,
            frame_ends: FrameEnds::NotConsumed { because: "no clsact".into() },
            no_softirqs_because: None,
            cost: TracedCost::NotMeasured,
        };
        assert_eq!(
            words(&Statement::Traced(traced)),
            "traced: drops with the kernel's reasons (skb:kfree_skb), XDP exceptions and failed redirects on the trial's two \
             interfaces; every frame that the stack does not need is a drop, as tc cannot consume it (no clsact); every receive \
             softirq at its beginning and end, in trials that time them; what the tracer itself costs has not been measured"
        );
    }

    #[test]
    fn texts_of_earlier_versions_are_said_as_they_were() {
        for text in [
            "interrupted after 3 trials and gone on with at 2026-01-02T03:04:05Z",
            "not measured: 64 B, placement same: some of its searches, to end in time",
            "not measured: imix B, placement same: some of its trials, to end in time",
            "not measured: 64 B, placement 0,1,2: no time was left",
            "a veth was made",
        ] {
            assert_eq!(words(&Statement::from_earlier(text)), text);
        }
    }
}
