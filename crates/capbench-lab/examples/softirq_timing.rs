//! What timing every receive softirq costs a trial: pairs of trials on a virtual link of its own, one of which times softirqs and
//! one of which has no program at them, in turn, the order changing from pair to pair.
//!
//! As root: `cargo run --release -p capbench-lab --features bpf --example softirq_timing [PAIRS [MILLISECONDS]]`

use std::time::Duration;

use capbench_frames::Pps;
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::softirqs::SoftirqTiming;
use capbench_model::trial::{Load, TrialResult};
use capbench_statistics::interval::Estimate;

const METHODS: [&str; 2] = ["packet-v3", "recv"];
const RATES: [f64; 2] = [250_000.0, 500_000.0];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let pairs: usize = arguments.next().map_or(Ok(20), |text| text.parse())?;
    let milliseconds: u64 = arguments.next().map_or(Ok(150), |text| text.parse())?;
    let duration = Duration::from_millis(milliseconds);
    let mut laboratory = live(virtual_link()).with_tracer();
    println!(
        "timed / not timed: {pairs} pairs of trials of {duration:?}, median [interval of order statistics]"
    );
    for method in METHODS {
        for rate in RATES {
            let setup = live_setup(method, 64 << 20, Duration::from_millis(150));
            let load = Load::Rate(Pps::new(rate)?);
            let mut ratios = Ratios::default();
            for pair in 0..pairs {
                let timed_first = pair % 2 == 0;
                let first = run(&mut laboratory, &setup, timed_first, load, duration)?;
                let second = run(&mut laboratory, &setup, !timed_first, load, duration)?;
                if timed_first { ratios.add(&first, &second) } else { ratios.add(&second, &first) }
            }
            println!("{method} at {rate} packets/s:");
            println!("  captured share      {}", words(&ratios.captured));
            println!("  charged application {}", words(&ratios.charged));
            println!("  CPU busy            {}", words(&ratios.total));
            println!("  own application     {} ns/packet, timed", words(&ratios.app_ns));
            println!("  kernel              {} ns/packet, timed", words(&ratios.kernel_ns));
            println!("  softirqs/packet     {}", words(&ratios.softirqs));
            println!("  tracer              {} ns/packet, as it measures itself", words(&ratios.tracer_ns));
        }
    }
    for statement in laboratory.statements() {
        println!("{statement:?}");
    }
    Ok(())
}

/// Runs one trial of a pair.
fn run(
    laboratory: &mut LiveLaboratory,
    setup: &Setup,
    is_timed: bool,
    load: Load,
    duration: Duration,
) -> Result<TrialResult, Box<dyn std::error::Error>> {
    let softirqs = if is_timed { SoftirqTiming::EveryTrial } else { SoftirqTiming::NoTrial };
    let setup = Setup { softirqs, ..setup.clone() };
    let trial = laboratory.prepare(&setup)?.run(load, duration)?;
    if trial.cpu.softirqs_timed != Some(is_timed) {
        return Err(format!("the trial was to be timed: {is_timed}, and {:?}", trial.cpu).into());
    }
    Ok(trial)
}

/// Figures of each pair.
#[derive(Default)]
struct Ratios {
    captured: Vec<f64>,
    charged: Vec<f64>,
    total: Vec<f64>,
    app_ns: Vec<f64>,
    kernel_ns: Vec<f64>,
    softirqs: Vec<f64>,
    tracer_ns: Vec<f64>,
}

impl Ratios {
    fn add(&mut self, timed: &TrialResult, plain: &TrialResult) {
        let captured = |trial: &TrialResult| 1.0 - trial.loss_ratio;
        self.captured.push(captured(timed) / captured(plain));
        let figures = [timed, plain].map(|trial| &trial.cpu);
        if let [Some(timed), Some(plain)] = figures.map(|cpu| cpu.app_ns_per_packet_at_most) {
            self.charged.push(timed / plain);
        }
        if let [Some(timed), Some(plain)] = figures.map(|cpu| cpu.total_ns_per_packet) {
            self.total.push(timed / plain);
        }
        self.app_ns.extend(timed.cpu.app_ns_per_packet.filter(|_| !timed.cpu.split_is_sampled));
        self.kernel_ns.extend(timed.cpu.kernel_ns_per_packet);
        self.tracer_ns.extend(timed.cpu.tracer_ns_per_packet);
        if let Some(runs) = timed.counters.get("kernel.net_rx_runs") {
            self.softirqs.push(*runs as f64 / timed.sent.max(1) as f64);
        }
    }
}

fn words(values: &[f64]) -> String {
    let Some(estimate) = Estimate::of(values.iter().copied()) else { return "unknown".into() };
    let Estimate { median, low, high, repeats, .. } = estimate;
    let ends = [low, high].map(|end| end.map_or("?".into(), |end| format!("{end:.3}")));
    format!("{median:.3} [{}] of {repeats}", ends.join(" to "))
}
