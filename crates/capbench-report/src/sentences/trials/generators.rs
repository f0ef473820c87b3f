//! The words of `TrialFinding::GeneratorsTogether`: how far apart several generators began, and whose frames were lost.

use capbench_judge::finding::trials::generators::{LossOfGenerator, LossesOfGenerators, StartSpread};
use capbench_model::figures::grouped;

use crate::naming::many;

/// Up to this number of generators are named.
const NAMED_GENERATORS: usize = 3;

/// The sentences about trials of several generators.
pub(super) fn words(
    generators: u32,
    start_spread: Option<StartSpread>,
    losses: &LossesOfGenerators,
) -> String {
    let spread = match start_spread {
        Some(StartSpread { ns, sending_ratio }) => format!(
            " They began up to {:.1} ms apart, {:.1} % of the trial.",
            ns as f64 / 1e6,
            sending_ratio * 100.0
        ),
        None => String::new(),
    };
    let together = many(generators.into(), "generator", "generators");
    format!("{together} sent together.{spread} {}", losses_sentence(losses))
}

/// Whose frames were lost.
fn losses_sentence(losses: &LossesOfGenerators) -> String {
    match losses {
        LossesOfGenerators::Unknown => {
            "Whose frames were lost is unknown, because the frames were not examined one by one.".into()
        }
        LossesOfGenerators::None => "None of them lost a frame.".into(),
        LossesOfGenerators::ByGenerator { lost } => {
            let mut parts = Vec::new();
            for LossOfGenerator { location, frames } in lost.iter().take(NAMED_GENERATORS) {
                parts.push(format!("{location} {}", grouped(*frames as f64)));
            }
            if lost.len() > NAMED_GENERATORS {
                let unnamed = (lost.len() - NAMED_GENERATORS) as u64;
                parts.push(many(unnamed, "more generator", "more generators"));
            }
            format!("Lost frames by generator: {}.", parts.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LossOfGenerator, LossesOfGenerators, StartSpread, words};

    /// Losses of this number of generators; the first lost 1,200 frames, each further one a frame less.
    fn by_generator(count: u64) -> LossesOfGenerators {
        let mut lost = Vec::new();
        for number in 1..=count {
            lost.push(LossOfGenerator { location: format!("ssh:gen{number}/eth1"), frames: 1201 - number });
        }
        LossesOfGenerators::ByGenerator { lost }
    }

    #[test]
    fn several_say_how_far_apart_they_began_and_which_lost() {
        let spread = StartSpread { ns: 12_000_000, sending_ratio: 0.012 };
        assert_eq!(
            words(2, Some(spread), &by_generator(1)),
            "2 generators sent together. They began up to 12.0 ms apart, 1.2 % of the trial. Lost frames by generator: \
             ssh:gen1/eth1 1,200."
        );
        assert_eq!(
            words(2, None, &LossesOfGenerators::None),
            "2 generators sent together. None of them lost a frame."
        );
        assert!(words(5, None, &by_generator(5)).ends_with("gen3/eth1 1,198, 2 more generators."));
        assert!(words(2, None, &LossesOfGenerators::Unknown).contains("is unknown"));
    }
}
