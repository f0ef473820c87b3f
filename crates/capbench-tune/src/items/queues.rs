//! Numbers of queues, the CPUs that they interrupt, and the distribution of frames to them.

use capbench_model::environment::queues::{self, QueueFinding, QueueInterrupt};

use super::{Is, Judgement, Stands, Wishes, with_number};
use crate::facts::Facts;
use crate::setting::{Proposal, Setting, numbers, value_of};

/// Positions in the numbers of queues.
const RECEIVE: usize = 0;
const COMBINED: usize = 3;

pub(super) fn channels(facts: &Facts, wishes: &Wishes) -> Judgement {
    let Some(queues) = facts.card.queues else {
        return match queues::receive_queues(&facts.card) {
            Some(1) => Judgement::absent("1 receive queue; the driver does not change the number"),
            Some(count) => {
                Judgement::absent(format!("{count} receive queues; the driver does not change the number"))
            }
            None => Judgement::unknown("the number of queues is unknown"),
        };
    };
    let (at, now, most) = match queues.most_combined {
        0 => (RECEIVE, queues.receive, queues.most_receive),
        most => (COMBINED, queues.combined, most),
    };
    let is = format!("{now} of {most} receive queues");
    let cpus = facts.capture_cpus(&wishes.cpus).len() as u32;
    let wanted = most.min(cpus).max(1);
    // More queues than capture CPUs matter only to a user who chose these.
    let is_against = if wishes.cpus.is_empty() { now == 1 && wanted > 1 } else { now != wanted };
    if !is_against {
        return Judgement::fine(is);
    }
    let why = if now < wanted {
        "the kernel's receive work of a queue is done by one CPU at a time"
    } else {
        "each queue more is a ring and an interrupt that these CPUs share"
    };
    Judgement::new(Stands::Against, is, why)
        .better(format!("{wanted}, one for each capture CPU"))
        .by(with_number(facts, Setting::Channels, at, wanted))
}

pub(super) fn interrupts(facts: &Facts, wishes: &Wishes) -> Judgement {
    if facts.card.interrupts.is_none() {
        return Judgement::absent("the interface has no interrupts");
    }
    let mut interrupts = queues::receive_interrupts(&facts.card);
    // Queues that go away need no CPU.
    let fewer = channels(facts, wishes).proposals.pop().and_then(|proposal| numbers(&proposal.value));
    if let Some(count) = fewer.map(|numbers| numbers[RECEIVE].max(numbers[COMBINED])) {
        interrupts.retain(|one| one.queue < count);
    }
    if interrupts.is_empty() {
        return Judgement::absent(
            "no interrupt has the name of a receive queue; an interface that is down has none",
        );
    }
    let mut found = queues::judge(&facts.card, &facts.topology);
    found.retain(QueueFinding::is_about_interrupts);
    let cpus = facts.capture_cpus(&wishes.cpus);
    let elsewhere: Vec<String> = interrupts
        .iter()
        .filter(|one| !wishes.cpus.is_empty() && !one.cpus.iter().all(|cpu| cpus.contains(cpu)))
        .map(|one| format!("queue {} interrupts {}, no capture CPU", one.queue, words(one)))
        .collect();
    let better = queues::spread(&interrupts, &cpus);
    let is_against = !elsewhere.is_empty()
        || found.iter().any(QueueFinding::is_against_capture)
            && queues::is_better(&facts.card, &facts.topology, &interrupts, &better);
    let all: Vec<String> =
        interrupts.iter().map(|one| format!("queue {} {}", one.queue, words(one))).collect();
    if !is_against {
        let is = if found.is_empty() { Is::Words(all.join(", ")) } else { Is::Queues(found) };
        return Judgement::fine(is);
    }
    let is = if found.is_empty() { Is::Words(elsewhere.join("; ")) } else { Is::Queues(found) };
    let proposals = better.iter().filter_map(|(queue, cpu)| {
        let interrupt = interrupts.iter().find(|one| one.queue == *queue)?;
        let setting = Setting::Interrupt(interrupt.name.clone());
        let value = cpu.to_string();
        (facts.settings.get(&setting)? != &value).then_some(Proposal { setting, value })
    });
    let list: Vec<String> = better.iter().map(|(queue, cpu)| format!("queue {queue} CPU {cpu}")).collect();
    let why = "the CPU that a queue interrupts does its receive work: queues on one core take turns, and a CPU of another NUMA \
               node reads each frame from far memory";
    Judgement::new(Stands::Against, is, why).better(list.join(", ")).by(proposals.collect())
}

fn words(interrupt: &QueueInterrupt) -> String {
    match &interrupt.cpus[..] {
        [] => "an unknown CPU".into(),
        [only] => format!("CPU {only}"),
        several => format!("CPUs {}", several.iter().map(u32::to_string).collect::<Vec<_>>().join(",")),
    }
}

pub(super) fn rss(facts: &Facts, _: &Wishes) -> Judgement {
    let Some(sharing) = &facts.card.sharing else {
        return Judgement::absent("the driver reports no RSS table");
    };
    let mut found = queues::judge(&facts.card, &facts.topology);
    found.retain(|finding| !finding.is_about_interrupts());
    let mut against = found.clone();
    against.retain(QueueFinding::is_against_capture);
    if !against.is_empty() {
        let queues = queues::receive_queues(&facts.card).unwrap_or(1);
        let before = facts.settings.get(&Setting::Sharing).and_then(|value| numbers(value));
        let even = before.and_then(|mut numbers| {
            let entries = *numbers.get(1)? as usize;
            let table = numbers.get_mut(3..3 + entries)?;
            table.iter_mut().zip(0u32..).for_each(|(queue, at)| *queue = at % queues);
            Some(Proposal { setting: Setting::Sharing, value: value_of(&numbers) })
        });
        let why =
            "a queue without entries gets no frame, and one with more entries than others is full first";
        return Judgement::new(Stands::Against, Is::Queues(against), why)
            .better(format!("as many entries for each of {queues} queues"))
            .by(even.into_iter().collect());
    }
    if !found.is_empty() {
        let why = "programs that follow connections, such as an IDS, need both directions in one thread";
        let better =
            format!("ethtool -X {} hkey 6d:5a:6d:5a:…, where the driver supports it", facts.interface);
        return Judgement::new(Stands::Note, Is::Queues(found), why).better(better);
    }
    Judgement::fine(format!(
        "{}: {} entries for {} queues",
        sharing.function, sharing.table_entries, sharing.queues_in_table
    ))
}

pub(super) fn rps(facts: &Facts, wishes: &Wishes) -> Judgement {
    let Some(queues) = &facts.card.receive_queues else {
        return Judgement::unknown("the receive queues are unknown");
    };
    let steered: Vec<u32> = queues
        .iter()
        .filter(|queue| queue.rps_cpus.as_deref().is_some_and(|cpus| !cpus.is_empty()))
        .map(|queue| queue.queue)
        .collect();
    let set = |queue: u32, value: &str| Proposal {
        setting: Setting::Queue(format!("rx-{queue}/rps_cpus")),
        value: value.into(),
    };
    let has_several = queues.len() > 1;
    match (&steered[..], has_several) {
        ([], false) if wishes.cpus.len() > 1 => {
            let why = "one queue has one CPU for all receive work; RPS distributes it by flows, for an interrupt between CPUs \
                       per batch";
            let mask = mask(&wishes.cpus);
            Judgement::new(Stands::Against, "1 receive queue, and RPS is off", why)
                .better("RPS to the capture CPUs")
                .by(vec![set(queues[0].queue, &mask)])
        }
        ([], _) => Judgement::fine("RPS is off"),
        (_, false) => Judgement::fine(format!(
            "RPS distributes 1 queue to CPUs {}",
            queues[0].rps_cpus.as_deref().unwrap_or_default()
        )),
        (steered, true) => {
            let why = "the card distributes the frames already; RPS queues each one again for another CPU";
            Judgement::new(
                Stands::Against,
                format!("RPS is on for {} of {} queues", steered.len(), queues.len()),
                why,
            )
            .better("off")
            .by(steered.iter().map(|queue| set(*queue, "0")).collect())
        }
    }
}

/// CPUs as the kernel writes a mask of them, up to its leading zeroes.
fn mask(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let word =
        |at: u32| cpus.iter().filter(|cpu| **cpu / 32 == at).fold(0u32, |mask, cpu| mask | 1 << (cpu % 32));
    let lower: String = (0..words - 1).rev().map(|at| format!(",{:08x}", word(at))).collect();
    format!("{:x}{lower}", word(words - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_written_as_the_kernel_writes_them() {
        let parsed = |cpus: &[u32]| {
            let found = capbench_host::bed::cpus_in_mask(&mask(cpus)).unwrap();
            found.into_iter().map(|cpu| cpu.number()).collect::<Vec<_>>()
        };
        assert_eq!(mask(&[0, 1]), "3");
        for cpus in [&[0u32][..], &[0, 5, 31], &[32], &[1, 33, 70]] {
            assert_eq!(parsed(cpus), cpus);
        }
    }
}
