//! What a bench answers: which method to use, up to which rate, at what cost.

use std::path::Path;

use capbench_model::disturbance::{CoreSpeed, CpuDisturbance, Disturbance};
use capbench_model::loss_pattern::{LossPattern, Spread};
use capbench_model::trial::{CpuAccount, Emptying, Phase, TrialResult, Verdict};
use capbench_report::model::Cell;
use capbench_report::report::report;
use capbench_report::sentences;
use capbench_results::read::Run;

use super::{run_of, trial};

fn answers(trials: &[TrialResult]) -> Vec<String> {
    sentences::answers(&run_of(trials.to_vec())).into_iter().map(|sentence| sentence.text).collect()
}

/// A trial at a common load of so many packets per second that costs so many nanoseconds each, by clocks of this resolution.
fn at_cost(
    method: &str,
    load: u32,
    total_ns: u64,
    resolution_ns: u64,
    app_ns: Option<[u64; 2]>,
) -> TrialResult {
    let frames = u64::from(load);
    let cpu = CpuAccount {
        total_ns_per_packet: Some(total_ns as f64),
        total_ns: Some(total_ns * frames),
        app_ns: app_ns.map(|[least, _]| least * frames),
        app_ns_per_packet: app_ns.map(|[least, _]| least as f64),
        app_ns_per_packet_at_most: app_ns.map(|[_, most]| most as f64),
        split_is_sampled: true,
        kernel_resolution_ns: Some(resolution_ns * frames),
        ..CpuAccount::default()
    };
    let (phase, intended_pps) = (Phase::CommonLoad, Some(f64::from(load)));
    TrialResult { cpu, phase, intended_pps, ..trial(1, method, load, load) }
}

#[test]
fn the_method_with_the_highest_sustained_rate_is_named_with_rate_and_cost() {
    let trials = [
        trial(1, "recv", 1_000_000, 280_000),
        trial(2, "packet-v3", 1_424_000, 1_424_000),
        at_cost("recv", 200_000, 1500, 0, Some([500, 500])),
        at_cost("packet-v3", 200_000, 700, 0, Some([60, 80])),
    ];
    assert_eq!(
        answers(&trials),
        [
            "Use packet-v3: at least 1.42 million packets/s without loss, 70 ns of application CPU per packet.",
            "At maximum load packet-v3 loses nothing; recv loses 72 % of 1,000,000 packets/s in the ring or socket queue.",
            "At 200,000 packets/s packet-v3 needs the least application CPU time, 70 ns per packet; recv needs the most, 500 ns.",
        ]
    );
}

#[test]
fn losses_in_pauses_of_the_host_are_part_of_the_answer() {
    let lost_at_once = LossPattern {
        bursts: Spread { count: 1, total: 4200, max: Some(4200), ..Spread::default() },
        ..LossPattern::in_windows(1_400_000, 4200, 10, 1)
    };
    let longer = TrialResult {
        phase: Phase::Confirmation,
        loss_pattern: Some(lost_at_once),
        ..trial(3, "packet-v3", 1_400_000, 1_395_800)
    };
    let trials = [trial(1, "recv", 1_000_000, 280_000), trial(2, "packet-v3", 1_424_000, 1_424_000), longer];
    let answers = answers(&trials);
    assert_eq!(
        answers[..2],
        [
            "Use packet-v3: at least 1.4 million packets/s without loss (pauses of the host not counted).",
            "In 1 of 1 trial of packet-v3 (0.3 % of the frames lost) the host stopped the capture thread for a moment. capbench does not count these losses against a method.",
        ]
    );
}

#[test]
fn equal_methods_are_named_and_the_cheaper_one_is_used() {
    let sustained = |method: &str, ns, app| {
        [at_cost(method, 95_000, ns, 0, Some([app, app])), trial(2, method, 100_000, 90_000)]
    };
    let cheaper = answers(&[sustained("libpcap", 900, 90), sustained("packet-v3", 700, 60)].concat());
    assert_eq!(
        cheaper[0],
        "Use packet-v3: 95,000 packets/s (±5 %) without loss, 60 ns of application CPU per packet."
    );
    let same = answers(&[sustained("libpcap", 700, 60), sustained("packet-v3", 700, 60)].concat());
    assert!(same[0].ends_with(" is equal within noise."), "{same:?}");
}

/// The trial on a CPU that ran at half of its speed.
fn noisy(trial: TrialResult) -> TrialResult {
    let core_speed = Some(CoreSpeed { before_ns: 1.25, after_ns: 1.25, fastest_ns: 1.0 });
    let cpus = vec![CpuDisturbance { core_speed, ..CpuDisturbance::default() }];
    TrialResult { disturbance: Disturbance { cpus, ..Disturbance::default() }, ..trial }
}

#[test]
fn where_noise_hides_the_limits_the_cheapest_method_is_named_with_those_that_may_be_better() {
    let of = |method, clean, lossy, app| {
        let at = |number, pps: u32, lost| {
            let (phase, intended_pps) = (Phase::Search, Some(f64::from(pps)));
            TrialResult { phase, intended_pps, ..trial(number, method, pps, pps - lost) }
        };
        let top = noisy(trial(2, method, 900_000, 800_000));
        [at(3, clean, 0), noisy(at(4, lossy, 1000)), top, at_cost(method, 100_000, 900, 0, Some([app, app]))]
    };
    let all = answers(&[of("packet-v3", 500_000, 550_000, 60), of("recv", 520_000, 570_000, 500)].concat());
    assert_eq!(
        all[..2],
        [
            "Not decided; use packet-v3 meanwhile: at least 500,000 packets/s without loss, 60 ns of application CPU per packet; recv may sustain more.",
            "To decide between them: `capbench search --goal quick --searches 6 --method recv,packet-v3 --size 64 --placement same` (about 5 min).",
        ]
    );
}

#[test]
fn a_table_says_why_a_method_is_above_one_with_a_higher_rate() {
    let ranked = |method: &str, app_ns| {
        let cost = at_cost(method, 90_000, 10 * app_ns, 0, Some([app_ns, app_ns]));
        let load = if method == "recv" { 100_000 } else { 97_000 };
        let held = TrialResult {
            phase: Phase::Search,
            intended_pps: Some(load.into()),
            ..trial(2, method, load, load)
        };
        [cost, held, trial(3, method, 104_000, 94_000)]
    };
    let note = |app_ns| {
        let trials = [ranked("recv", 90), ranked("packet-v3", app_ns)].concat();
        let summary = report(&Run::new(run_of(trials), Path::new("/nowhere"))).summary.unwrap();
        (summary.rows[0].cells[0].clone(), summary.notes.concat())
    };
    let why = "A method above one with a higher rate may sustain more, or costs less at about the same rate.";
    let (first, notes) = note(60);
    assert_eq!(first, Cell::from("packet-v3"));
    assert!(notes.contains(why), "{notes}");
    let (first, notes) = note(900);
    assert_eq!(first, Cell::from("recv"));
    assert!(!notes.contains(why), "{notes}");
}

#[test]
fn the_only_method_is_used_whatever_the_noise() {
    let only = noisy(trial(1, "recv", 100_000, 100_000));
    assert_eq!(answers(std::slice::from_ref(&only))[0], "Use recv: at least 100,000 packets/s without loss.");
    let worse = noisy(trial(2, "packet-v1", 90_000, 20_000));
    let two = answers(&[only, worse]);
    assert_eq!(two[0], "Probably best is recv: at least 100,000 packets/s without loss.");
}

#[test]
fn at_a_named_rate_a_method_whose_cost_is_unknown_may_cost_less() {
    let fixed = |method, app| {
        let cost = at_cost(method, 100_000, 900, 0, app);
        TrialResult { phase: Phase::FixedLoad, ..cost }
    };
    let unknown = TrialResult { cpu: CpuAccount::default(), ..fixed("recv", None) };
    assert_eq!(
        answers(&[fixed("packet-v3", Some([60, 60])), unknown])[0],
        "Not decided; use packet-v3 meanwhile: it sustains 100,000 packets/s without loss, 60 ns of application CPU per packet; recv may cost less."
    );
}

#[test]
fn a_total_below_its_parts_or_its_error_is_unknown_and_nobody_is_cheapest() {
    // As files of older versions have it: ticks say 0, the traced parts 2,775 and 1,300.
    let ticks = |method: &str| {
        let trial = at_cost(method, 100_000, 0, 0, Some([2775, 2775]));
        let cpu = CpuAccount { kernel_ns: Some(1300 * 100_000), split_is_sampled: false, ..trial.cpu };
        TrialResult { cpu, ..trial }
    };
    assert_eq!(ticks("recv").total_ns_per_packet(), None);
    let below = at_cost("recv", 100_000, 1000, 0, Some([2775, 2775]));
    assert_eq!(below.total_ns_per_packet(), None);
    let within = at_cost("recv", 100_000, 1000, 600, Some([1010, 1010]));
    assert_eq!(within.total_ns_per_packet(), None, "an error of 1200 of 1000 ns");
    let fine = at_cost("recv", 100_000, 1000, 100, Some([1010, 1010]));
    assert_eq!(fine.total_ns_per_packet(), Some(1010.0));
    let top = |method| trial(2, method, 1_000_000, 1_000_000);
    let all = answers(&[ticks("recv"), ticks("packet-v3"), top("recv"), top("packet-v3")]);
    assert!(all.iter().all(|text| !text.contains("needs the least") && !text.contains(" 0 ns")), "{all:?}");
}

#[test]
fn a_program_with_its_own_work_is_compared_with_the_methods() {
    let mut own = trial(1, "cmd:./mine", 900_000, 600_000);
    own.profile.work = "its own".into();
    let all = answers(&[trial(2, "packet-v3", 1_000_000, 1_000_000), own]);
    assert!(all[0].starts_with("Use packet-v3: at least 1 million packets/s"), "{all:?}");
    assert!(all.iter().any(|one| one.contains("cmd:./mine loses 33 % of 900,000 packets/s")), "{all:?}");
    assert!(all.iter().all(|text| !text.contains("other set-up")), "{all:?}");
}

#[test]
fn a_method_that_only_buffers_the_maximum_load_falls_behind() {
    let behind = Some(Emptying { after_s: 1.0, holds_s: 0.0 });
    let trials = [
        TrialResult { emptying: behind, ..trial(1, "recv", 700_000, 700_000) },
        trial(2, "packet-v3", 1_000_000, 1_000_000),
        trial(3, "packet-v1", 900_000, 600_000),
    ];
    let all = answers(&trials);
    let text = "At maximum load packet-v3 loses nothing; recv falls behind, with its frames still in buffers; packet-v1 loses";
    assert!(all.iter().any(|one| one.starts_with(text)), "{all:?}");
}

#[test]
fn only_the_same_set_up_is_compared() {
    let large = |method, sent, delivered| {
        let mut trial = trial(1, method, sent, delivered);
        trial.profile.frame_size = capbench_model::trial::SizeLabel::Octets(1518);
        trial.profile.mean_frame_size = 1518.0;
        trial
    };
    let trials = [
        trial(1, "recv", 300_000, 300_000),
        trial(1, "packet-v3", 250_000, 240_000),
        trial(1, "packet-v3", 200_000, 200_000),
        large("packet-v3", 900_000, 900_000),
    ];
    let all = answers(&trials);
    assert!(all[0].starts_with("Use recv: at least 300,000 packets/s"), "{all:?}");
    assert!(all.last().unwrap().contains("packet-v3 is better with 1518-byte frames"), "{all:?}");
}

#[test]
fn without_a_lossless_load_the_limit_and_its_place_are_named() {
    let all = answers(&[trial(1, "recv", 100_000, 80_000), trial(2, "packet-v3", 100_000, 99_000)]);
    assert!(all[0].starts_with("No method sustains any of the tried loads without loss: "), "{all:?}");
    assert!(all[0].contains("in the ring or socket queue"), "{all:?}");
}

#[test]
fn at_a_named_rate_the_cheapest_that_sustains_it_is_named() {
    let fixed = |method: &str, ns: u64, delivered: u32| {
        let cost = at_cost(method, 100_000, ns, 0, Some([ns / 10, ns / 10]));
        let verdict = if delivered < 100_000 { Verdict::Lossy } else { Verdict::Lossless };
        let TrialResult { cpu, intended_pps, .. } = cost;
        TrialResult {
            phase: Phase::FixedLoad,
            cpu,
            intended_pps,
            verdict,
            ..trial(1, method, 100_000, delivered)
        }
    };
    let all = answers(&[
        fixed("recv", 900, 100_000),
        fixed("packet-v3", 700, 100_000),
        fixed("libpcap", 100, 90_000),
    ]);
    assert_eq!(
        all[0],
        "Use packet-v3: it sustains 100,000 packets/s without loss, 70 ns of application CPU per packet."
    );
    let none = answers(&[fixed("libpcap", 100, 90_000)]);
    assert!(none[0].starts_with("No method sustains 100,000 packets/s without loss: "), "{none:?}");
}

/// A trial at a load of 200,000 packets/s of a method that reads so many of them.
fn at_200k(method: &str, work: &str, delivered: u32, app_ns: u64) -> TrialResult {
    let cost = at_cost(method, 200_000, 10 * app_ns, 0, Some([app_ns, app_ns]));
    let lossy = TrialResult {
        cpu: cost.cpu,
        intended_pps: cost.intended_pps,
        ..trial(1, method, 200_000, delivered)
    };
    let mut fixed = TrialResult { phase: Phase::FixedLoad, verdict: Verdict::Lossy, ..lossy };
    fixed.profile.work = work.into();
    fixed
}

#[test]
fn a_load_for_which_one_thread_has_no_time_is_no_matter_of_the_host() {
    let of = |work: &str, app_ns| {
        let methods = ["recv", "packet-v3"].map(|method| noisy(at_200k(method, work, 45_000, app_ns)));
        answers(&methods)
    };
    let by_work = "No method sustains 200,000 packets/s without loss: the work takes 20 µs of CPU time per packet, so one thread processes up to 50,000 packets/s.";
    assert_eq!(of("ns:20000", 22_000)[0], by_work);
    let measured = "No method sustains 200,000 packets/s without loss: the application needs at least 8 µs of CPU time per packet, so one thread processes up to 125,000 packets/s.";
    assert_eq!(of("loop:9000", 8000)[0], measured);
    assert!(!of("loop:9000", 5500)[0].contains("one thread"), "{:?}", of("loop:9000", 5500));
}

#[test]
fn where_no_method_sustains_the_load_the_next_step_is_the_same_command_without_it() {
    let of = |delivered| {
        let mut run = run_of(vec![at_200k("recv", "none", delivered, 500)]);
        let words = "/bin/capbench bench --rate 200k --tx eth1 --max-loss=0 --quick";
        run.command = words.split(' ').map(String::from).collect();
        sentences::answers(&run).into_iter().map(|sentence| sentence.text).collect::<Vec<_>>()
    };
    let next = "To find the highest rate that they sustain: `capbench bench --tx eth1 --quick`.";
    assert_eq!(of(120_000)[1], next);
    assert!(!of(200_000).iter().any(|text| text.contains("highest rate")), "{:?}", of(200_000));
}

#[test]
fn what_limits_a_rate_is_said_of_the_rate_that_is_shown() {
    let search = |number, method, pps, lost| {
        let (phase, intended_pps) = (Phase::Search, Some(f64::from(pps)));
        TrialResult { phase, intended_pps, ..trial(number, method, pps, pps - lost) }
    };
    let trials = [
        trial(1, "packet-v3", 900_000, 900_000),
        search(2, "recv", 500_000, 0),
        noisy(search(3, "recv", 550_000, 1000)),
        noisy(search(4, "recv", 550_000, 1000)),
        noisy(search(5, "packet-v1", 550_000, 1000)),
        search(6, "packet-v2", 300_000, 100_000),
        search(7, "libpcap", 300_000, 0),
        search(8, "libpcap", 400_000, 100_000),
    ];
    let summary = report(&Run::new(run_of(trials.to_vec()), Path::new("/nowhere"))).summary.unwrap();
    let at = summary.columns.iter().position(|column| column.key == "limit").unwrap();
    let limit = |method: &str| {
        let row = summary.rows.iter().find(|row| row.cells[0] == Cell::from(method)).unwrap();
        (row.cells[1].clone(), row.cells[at].clone())
    };
    assert_eq!(limit("packet-v3"), (Cell::AtLeast(900_000.0), Cell::from("generator")));
    assert_eq!(limit("recv"), (Cell::AtLeast(500_000.0), Cell::from("noise")));
    assert_eq!(limit("packet-v1"), (Cell::Unknown, Cell::Empty));
    assert_eq!(limit("packet-v2"), (Cell::from("none"), Cell::from("ring")));
    assert_eq!(limit("libpcap"), (Cell::Number(300_000.0), Cell::from("ring")));
    let notes = summary.notes.concat();
    assert!(notes.contains("none: it sustained none of the loads that were tried."), "{notes}");
}

#[test]
fn the_costs_of_the_cheapest_are_a_range() {
    let of = |method, app_ns| at_cost(method, 95_000, 900, 0, Some([app_ns, app_ns]));
    let top = trial(2, "recv", 100_000, 90_000);
    let all = answers(&[of("packet-v3", 60), of("libpcap", 62), of("recv", 500), top]);
    let text = "At 95,000 packets/s packet-v3 and libpcap need the least application CPU time, 60 to 62 ns per packet; recv needs the most, 500 ns.";
    assert!(all.iter().any(|one| one == text), "{all:?}");
}

#[test]
fn the_total_is_named_where_it_decides() {
    let of = |method, total_ns| {
        [at_cost(method, 95_000, total_ns, 0, Some([60, 60])), trial(2, method, 100_000, 100_000)]
    };
    let all = answers(&[of("libpcap", 900), of("packet-v3", 700)].concat());
    let text = "At 95,000 packets/s packet-v3 needs the least CPU time of application and kernel together, 700 ns per packet; libpcap needs the most, 900 ns.";
    assert!(all.iter().any(|one| one == text), "{all:?}");
}

#[test]
fn one_line_says_what_the_time_of_a_set_up_was_not_enough_for() {
    let mut run = run_of(vec![trial(1, "recv", 100_000, 100_000)]);
    let left_out = [
        "64 B, placement same: some of its searches, to end in time",
        "64 B, placement same: some of its trials, to end in time",
        "512 B, placement same: some of its searches, to end in time",
    ];
    run.statements = left_out.map(|words| format!("not measured: {words}")).to_vec();
    let caveats = report(&Run::new(run, Path::new("/nowhere"))).caveats;
    let expected = "Not measured: 64 B, placement same: some of its trials, to end in time; 512 B, placement same: \
                    some of its searches, to end in time.";
    assert_eq!(caveats.last().unwrap().text, expected);
}

#[test]
fn a_rate_that_the_generator_did_not_send_is_sustained_by_nobody() {
    let at = |method| {
        let trial = trial(1, method, 22_000, 22_000);
        TrialResult { phase: Phase::FixedLoad, intended_pps: Some(100_000.0), intended: 100_000, ..trial }
    };
    assert_eq!(
        answers(&[at("recv"), at("packet-v3")])[0],
        "No method was tested at 100,000 packets/s: the generator sent up to 22,000 packets/s."
    );
}

#[test]
fn invalid_trials_name_no_method() {
    let invalid = TrialResult {
        verdict: Verdict::Invalid,
        invalid_because: Some("11 frames were delivered of 10 sent".into()),
        ..trial(7, "recv", 10, 10)
    };
    let text = "No method can be named: every trial is invalid (11 frames were delivered of 10 sent).";
    assert_eq!(answers(&[invalid]), [text]);
}
