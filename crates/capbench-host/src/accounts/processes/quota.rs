//! How often the CPU quota of a control group stopped this process: `cpu.stat` (Documentation/admin-guide/cgroup-v2.rst).

use std::fs;
use std::path::Path;

use capbench_model::disturbers::Throttled;

/// The counts since the groups exist, of this process's group and its ancestors; `None` if none of them has a quota.
pub(super) fn throttled(proc: &Path, cgroups: &Path) -> Option<Throttled> {
    let groups = fs::read_to_string(proc.join("self/cgroup")).ok()?;
    let group = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mut sum: Option<Throttled> = None;
    for folder in Path::new(group).ancestors() {
        let Ok(text) = fs::read_to_string(cgroups.join(folder).join("cpu.stat")) else { continue };
        if let Some(counts) = parse(&text) {
            let before = sum.unwrap_or_default();
            sum = Some(Throttled {
                periods: before.periods.saturating_add(counts.periods),
                stopped_ns: before.stopped_ns.saturating_add(counts.stopped_ns),
            });
        }
    }
    sum
}

/// The difference of two readings; `None` if a group came or went.
pub(super) fn since(now: Option<Throttled>, then: Option<Throttled>) -> Option<Throttled> {
    let (now, then) = (now?, then?);
    Some(Throttled {
        periods: now.periods.checked_sub(then.periods)?,
        stopped_ns: now.stopped_ns.checked_sub(then.stopped_ns)?,
    })
}

/// The counts of one group; `None` if it never had a quota: its file lacks them, or no period passed.
fn parse(text: &str) -> Option<Throttled> {
    let mut periods_passed = 0;
    let mut counts = Throttled::default();
    for line in text.lines() {
        let Some((name, value)) = line.split_once(' ') else { continue };
        let value: u64 = value.trim().parse().ok()?;
        match name {
            "nr_periods" => periods_passed = value,
            "nr_throttled" => counts.periods = value,
            "throttled_usec" => counts.stopped_ns = value.saturating_mul(1000),
            _ => {}
        }
    }
    (periods_passed > 0).then_some(counts)
}

#[cfg(test)]
mod tests {
    use capbench_model::disturbers::Throttled;
    use capbench_testing::Scratch;

    use super::{since, throttled};

    #[test]
    fn a_group_and_its_ancestors_are_summed() {
        let scratch = Scratch::new();
        for folder in ["proc/self", "groups/a/b"] {
            std::fs::create_dir_all(scratch.file(folder)).unwrap();
        }
        let read = || throttled(&scratch.file("proc"), &scratch.file("groups"));
        assert_eq!(read(), None, "no control groups");
        std::fs::write(scratch.file("proc/self/cgroup"), "1:cpu:/\n0::/a/b\n").unwrap();
        std::fs::write(scratch.file("groups/cpu.stat"), "usage_usec 7\nuser_usec 3\n").unwrap();
        let without = "usage_usec 7\nnr_periods 0\nnr_throttled 0\nthrottled_usec 0\n";
        std::fs::write(scratch.file("groups/a/b/cpu.stat"), without).unwrap();
        assert_eq!(read(), None, "no quota");
        std::fs::write(
            scratch.file("groups/a/cpu.stat"),
            "nr_periods 9\nnr_throttled 2\nthrottled_usec 30\n",
        )
        .unwrap();
        let before = read();
        assert_eq!(before, Some(Throttled { periods: 2, stopped_ns: 30_000 }));
        std::fs::write(
            scratch.file("groups/a/b/cpu.stat"),
            "nr_periods 5\nnr_throttled 1\nthrottled_usec 4\n",
        )
        .unwrap();
        assert_eq!(since(read(), before), Some(Throttled { periods: 1, stopped_ns: 4000 }));
        assert_eq!((since(before, read()), since(read(), None)), (None, None), "a group came or went");
    }
}
