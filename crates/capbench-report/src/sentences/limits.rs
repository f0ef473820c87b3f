//! The words of what limits a method.

use capbench_judge::limit::Limit;

use super::places;

/// A limit in words, for use in sentences.
pub fn words(limit: Limit) -> String {
    let words = match limit {
        Limit::Load => "load",
        Limit::Generator => "the generator",
        Limit::Noise => "noise of the host, which can explain the losses",
        Limit::Nic => "the link, the NIC or its driver",
        Limit::Backlog => "the kernel's receive work: frames arrive faster than the kernel processes them",
        Limit::Ring => "the ring: it is too small for the moments in which nobody reads it",
        Limit::RingOrApplication => "the ring or the application: too few losses to decide which",
        Limit::Application => {
            "the application: it reads frames more slowly than they arrive, so the ring fills"
        }
        Limit::Sharing => "sharing",
        Limit::SharedCpus => "shared CPUs",
        Limit::Members => "members",
        Limit::Contention => "contention",
        Limit::Coherence => "coherence",
        Limit::Unknown => "unknown",
        Limit::Elsewhere { place } => {
            let place = places::words(place);
            return format!("unknown: the place of the loss ({place}) does not show the cause");
        }
    };
    words.into()
}

#[cfg(test)]
mod tests {
    use capbench_judge::limit::Limit;

    #[test]
    fn limits_have_words() {
        let words = [
            (Limit::Ring, "the ring: it is too small for the moments in which nobody reads it"),
            (Limit::RingOrApplication, "the ring or the application: too few losses to decide which"),
            (
                Limit::Application,
                "the application: it reads frames more slowly than they arrive, so the ring fills",
            ),
        ];
        for (limit, words) in words {
            assert_eq!(super::words(limit), words);
        }
    }
}
