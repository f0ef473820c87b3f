//! The memory of prepared frames has a limit, which is checked before the memory is used. The only test of its program: it reads
//! the peak of the whole process.

use capbench_frames::{FlowDefaults, FlowSet, FrameLimits, Mtu, PacketFile, Result};

/// The largest memory that this process had in RAM, in octets.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

/// A flow with headers of this length and 61,336 sizes, each of which has them in memory.
fn flow(head: usize) -> String {
    format!(
        "[[flow]]\nsize = \"4200-65535/1\"\nheader = [{{ custom = {{ bytes = \"{}\" }} }}]\n",
        "ab".repeat(head)
    )
}

fn set(text: &str) -> Result<FlowSet> {
    let defaults =
        FlowDefaults { sizes: "64".parse()?, rate: None, burst: None, poisson: None, frames: Some(1) };
    PacketFile::from_toml(text)?.flow_set(&defaults, Mtu(70_000), None)
}

#[test]
fn the_largest_plan_stays_under_the_limit_and_one_above_is_refused_without_its_memory() {
    const SLACK: usize = 24 << 20;
    let most = FrameLimits::MOST_MEMORY;
    let begin = peak();
    let error = set(&flow(8192)).unwrap_err().to_string();
    assert!(error.starts_with("flow[0]: its frames need 474"), "{error}");
    assert!(error.contains(&format!("but {most} are left of {most} for all flows")), "{error}");
    let refused = peak() - begin;
    assert!(refused < SLACK, "a refused file needed {refused} bytes");

    let (mut accepted, mut above) = (1024_usize, 8192);
    while above - accepted > 1 {
        let head = accepted.midpoint(above);
        if set(&flow(head)).is_ok() { accepted = head } else { above = head }
    }
    let largest = flow(accepted);
    let memory: usize = set(&largest).unwrap().flows().iter().map(|flow| flow.plan.memory()).sum();
    assert!(memory <= most && memory > most / 100 * 99, "{memory} of {most}");
    let needed = peak() - begin;
    assert!(needed > most / 10 * 9 && needed < most + SLACK, "{needed} bytes for a plan of {memory}");
    let error = set(&format!("{largest}{}", flow(1024))).unwrap_err().to_string();
    assert!(error.starts_with("flow[1]: its frames need "), "all flows of a file share the limit: {error}");
}
