//! Each sentence about trials, once.

use super::{
    Account, Attempt, LivelockedTrial, LostAt, LostMeanwhile, ReportSums, StalledCpu, TrialFinding, words,
};
use capbench_judge::finding::OddFrames;
use capbench_model::noise::Noise;
use capbench_model::placement::LoadDepends;
use capbench_model::places::Place;
use capbench_model::trial::{Livelock, SizeLabel};

fn lost(place: Place, frames: u64) -> LostAt {
    LostAt { place, frames }
}

/// An account of a trial that sent 1,000 frames and lost none.
fn account() -> Account {
    Account { trials: 1, sent_frames: 1000, is_sent_unverified: false, buffered_frames: 0, lost: Vec::new() }
}

fn account_words(account: Account) -> String {
    words(&TrialFinding::AccountedFor(account))
}

#[test]
fn the_account_says_how_many_packets_were_lost_and_where() {
    for (lost, expected) in [
        (vec![], "none was lost."),
        (vec![lost(Place::Ring, 1)], "1 was lost in the ring or socket queue."),
        (vec![lost(Place::Ring, 10)], "10 were lost in the ring or socket queue."),
        (
            vec![lost(Place::Ring, 1000), lost(Place::Backlog, 7), lost(Place::Xdp, 1)],
            "1,008 were lost: 1,000 in the ring or socket queue; 7 in the softirq backlog; 1 in XDP.",
        ),
        (
            vec![
                lost(Place::Ring, 1000),
                lost(Place::Backlog, 7),
                lost(Place::Xdp, 4),
                lost(Place::Transmit, 2),
                lost(Place::Nic, 1),
            ],
            "1,014 were lost: 1,000 in the ring or socket queue; 7 in the softirq backlog; 4 in XDP; 3 at other known \
             places.",
        ),
    ] {
        let expected = format!("Every packet is accounted for: of 1,000 sent in 1 trial, {expected}");
        assert_eq!(account_words(Account { lost, ..account() }), expected);
    }
}

#[test]
fn the_account_says_what_was_in_buffers_and_what_is_unverified() {
    let buffered = account_words(Account { buffered_frames: 500, ..account() });
    let expected =
        "none was lost yet: 500 waited in buffers when sending ended, as many as longer trials lose.";
    assert!(buffered.ends_with(expected), "{buffered}");
    let unverified = Account { trials: 2, sent_frames: 10, is_sent_unverified: true, ..account() };
    assert_eq!(
        account_words(unverified),
        "Every packet that generators reported is accounted for: of 10 sent in 2 trials, none was lost."
    );
}

#[test]
fn unexplained_packets_and_odd_frames_are_said_with_their_trial() {
    let unexplained = TrialFinding::Unexplained { trial: 1, method: "recv".into(), packets: -3 };
    assert_eq!(words(&unexplained), "Trial 1 (recv): -3 packets are not explained by any counter.");
    let frames = OddFrames { foreign: 1, duplicates: 2, reordered: 3, truncated: 4, corrupt: 5 };
    let odd = TrialFinding::OddFrames { trial: 1, method: "recv".into(), frames };
    assert_eq!(
        words(&odd),
        "Trial 1 (recv): 1 foreign, 2 duplicate, 3 reordered, 4 cut short and 5 damaged frames arrived."
    );
}

#[test]
fn what_is_invalid_or_unverified_is_said_with_the_reason() {
    let invalid = |invalid_trials| TrialFinding::Invalid {
        reason: "11 frames were delivered of 10 sent".into(),
        invalid_trials,
        all_trials: 3,
        methods: vec!["recv".into(), "libpcap".into()],
    };
    assert_eq!(
        words(&invalid(1)),
        "1 of 3 trials is invalid (recv, libpcap): 11 frames were delivered of 10 sent."
    );
    assert!(words(&invalid(2)).starts_with("2 of 3 trials are invalid"));
    assert_eq!(
        words(&TrialFinding::SentUnverified { reason: "it is elsewhere".into() }),
        "The number of sent frames, and so each loss, is unverified: it is elsewhere."
    );
    assert_eq!(
        words(&TrialFinding::MethodUnverified { method: "cmd:x".into(), reason: "it reads them".into() }),
        "The counts of cmd:x are unverified: it reads them."
    );
    assert_eq!(
        words(&TrialFinding::LoadDepends {
            placement: "same".into(),
            because: LoadDepends::Earlier { text: "one CPU".into() }
        }),
        "Placement same: the offered load depends on the receiver (one CPU), so rates there are no limits of a method."
    );
}

#[test]
fn what_programs_report_is_said_next_to_what_was_found() {
    let whole = ReportSums {
        method: "cmd:x".into(),
        trials: 1,
        captured: Some(9),
        received: Some(10),
        dropped: Some(1),
        in_files: Some(9),
        delivered: 9,
        sent: 10,
    };
    assert_eq!(
        words(&TrialFinding::ProgramReports(whole.clone())),
        "cmd:x reports 9 captured, 10 received, 1 dropped; its file has 9 frames of the trial; 10 were sent."
    );
    let two = ReportSums { trials: 2, received: None, in_files: Some(20), ..whole.clone() };
    assert_eq!(
        words(&TrialFinding::ProgramReports(two)),
        "cmd:x reports 9 captured, 1 dropped; its files have 20 frames, 9 of them intact and of the 2 trials; 10 were sent."
    );
    let no_file = ReportSums { in_files: None, ..whole };
    assert!(words(&TrialFinding::ProgramReports(no_file)).ends_with("1 dropped; 10 were sent."));
}

#[test]
fn livelock_is_said_of_the_worst_trial_against_the_best() {
    let livelocked = LivelockedTrial {
        trial: 1,
        method: "recv".into(),
        frame_size: SizeLabel::Octets(64),
        placement: "same".into(),
        work: "none".into(),
        offered_pps: 1e6,
        delivered_pps: 1e5,
        best: Livelock { against: 2, offered_pps: 4e5, delivered_pps: 4e5 },
    };
    assert_eq!(
        words(&TrialFinding::Livelock(livelocked)),
        "Livelock: recv delivered 100,000 packets/s of 1,000,000 packets/s (trial 1), but 400,000 packets/s of only 400,000 \
         packets/s (trial 2; 64-byte frames, placement same, work none)."
    );
}

#[test]
fn stalls_are_said_with_the_frames_lost_meanwhile() {
    let once = StalledCpu {
        cpu: 1,
        stalls: 1,
        trials: 1,
        at_most_ns: 5_000_000,
        at_least_ns: 3_000_000,
        lost_meanwhile: Some(LostMeanwhile { lost_frames: 1000, while_stalled_frames: 700 }),
    };
    assert_eq!(
        words(&TrialFinding::Stalled(once.clone())),
        "CPU 1 stalled once in 1 trial, for up to 5.0 ms (at least 3.0 ms, by its timer tick): the hypervisor ran something \
         else, or interrupts were off. Of 1000 frames lost in them, most in the softirq backlog, at least 700 were sent in those \
         moments."
    );
    let often = StalledCpu { stalls: 4, trials: 2, lost_meanwhile: None, ..once };
    let text = words(&TrialFinding::Stalled(often));
    assert!(
        text.starts_with("CPU 1 stalled 4 times in 2 trials, for") && text.ends_with("were off."),
        "{text}"
    );
}

#[test]
fn noise_retries_and_the_tracer_are_said() {
    let noisy = |noisy_trials| TrialFinding::Noisy {
        noise: Noise::from_earlier("a host slept"),
        noisy_trials,
        all_trials: 3,
        methods: vec!["recv".into(), "libpcap".into()],
    };
    assert_eq!(words(&noisy(2)), "Noisy: 2 trials of recv, libpcap: a host slept.");
    assert_eq!(words(&noisy(3)), "Noisy: all trials: a host slept.");
    let retried = |numbers: &[u32]| {
        let attempts = numbers.iter().map(|trial| Attempt { trial: *trial, method: "recv".into() });
        words(&TrialFinding::Retried {
            noise: Noise::from_earlier("a host slept"),
            attempts: attempts.collect(),
        })
    };
    assert_eq!(retried(&[1]), "Attempt 1 (recv) discarded and repeated: a host slept.");
    assert_eq!(retried(&[1, 2]), "Attempts 1 (recv), 2 (recv) discarded and repeated: a host slept.");
    assert_eq!(
        words(&TrialFinding::TracerCost { ns_per_packet: 80.0, cpu_ratio: 0.08 }),
        "The tracer itself took up to 80 ns per packet, and up to 8.0 % of the time of the CPU that does the kernel's receive \
         work."
    );
}
