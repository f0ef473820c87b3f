//! Whether other processes kept the CPUs busy while a test ran (/proc/stat of proc_stat(5), less what this process and its
//! children used).

use std::fmt;
use std::fs;

/// The CPU time of the host and of this process when a test began.
#[derive(Debug, Clone, Copy)]
pub struct HostLoad {
    host: u64,
    own: u64,
    elapsed: u64,
    cpus: u64,
}

/// The share of the CPUs that others used, and a hypervisor's other guests among them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OthersUsed {
    /// In hundredths of a CPU.
    percent: u64,
    cpus: u64,
}

impl fmt::Display for OthersUsed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "other processes used {} % of the host's {} CPUs", self.percent, self.cpus)
    }
}

impl HostLoad {
    /// Begins to watch.
    ///
    /// # Panics
    /// Without /proc.
    pub fn watch() -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap();
        let own = fs::read_to_string("/proc/self/stat").unwrap();
        Self::read(&stat, &own).expect("/proc/stat and /proc/self/stat have their fields")
    }

    fn read(stat: &str, own: &str) -> Option<Self> {
        let fields: Vec<u64> =
            stat.lines().next()?.split_whitespace().skip(1).map_while(|field| field.parse().ok()).collect();
        // user nice system idle iowait irq softirq steal; guest time is part of user time.
        let [user, nice, system, idle, iowait, irq, softirq, steal] = fields.get(..8)?.try_into().ok()?;
        // Interrupts belong to no process: most of them are for the frames that the test itself sends.
        let busy = user + nice + system + steal;
        let all = busy + irq + softirq + idle + iowait;
        let cpus = stat.lines().filter(|line| line.starts_with("cpu")).count() as u64 - 1;
        // utime stime cutime cstime, behind the program's name, which may have blanks and brackets.
        let times = own.rsplit_once(") ")?.1.split(' ').skip(11).take(4).map(str::parse::<u64>);
        let own = times.sum::<Result<u64, _>>().ok()?;
        Some(Self { host: busy, own, elapsed: all, cpus: cpus.max(1) })
    }

    /// CPU time that other processes used since then, if it is more than a quarter of one CPU. That can keep a thread from its
    /// CPU for longer than a queue of the kernel lasts.
    pub fn others(&self) -> Option<OthersUsed> {
        self.until(&Self::watch())
    }

    fn until(&self, end: &Self) -> Option<OthersUsed> {
        let others = (end.host - self.host).saturating_sub(end.own.saturating_sub(self.own));
        let elapsed = (end.elapsed - self.elapsed).max(1);
        (others * self.cpus * 4 > elapsed)
            .then_some(OthersUsed { percent: others * 100 / elapsed, cpus: self.cpus })
    }
}

#[cfg(test)]
mod tests {
    use super::{HostLoad, OthersUsed};

    fn at(user: u64, idle: u64, own: u64) -> HostLoad {
        let stat = format!("cpu  {user} 0 0 {idle} 0 0 0 0 0 0\ncpu0 1 2 3\ncpu1 1 2 3\nintr 5\n");
        let own = format!("77 (a) b (c) S 1 77 77 0 -1 4194560 1 2 3 4 {own} 0 0 0 20 0 1");
        HostLoad::read(&stat, &own).unwrap()
    }

    #[test]
    fn time_of_others_is_the_hosts_time_less_this_process() {
        let begun = at(1000, 1000, 10);
        // Two CPUs for 100 ticks each.
        assert_eq!(begun.until(&at(1100, 1100, 110)), None);
        assert_eq!(begun.until(&at(1120, 1080, 110)), None);
        assert_eq!(begun.until(&at(1200, 1000, 110)), Some(OthersUsed { percent: 50, cpus: 2 }));
        assert!(begun.until(&at(1130, 1070, 100)).is_some());
    }

    #[test]
    fn frames_of_the_test_itself_make_no_host_busy() {
        let at = |softirq: u64, idle: u64| {
            let stat = format!("cpu  10 0 0 {idle} 0 0 {softirq} 0 0 0\ncpu0 1 2 3\ncpu1 1 2 3\n");
            HostLoad::read(&stat, "77 (a) S 1 77 77 0 -1 4194560 1 2 3 4 10 0 0 0 20 0 1").unwrap()
        };
        assert_eq!(at(0, 100).until(&at(100, 200)), None);
    }

    #[test]
    fn this_host_can_be_watched() {
        let watch = HostLoad::watch();
        assert!(watch.cpus > 0 && watch.elapsed >= watch.host);
        if let Some(others) = watch.others() {
            assert!(others.to_string().starts_with("other processes used "));
        }
    }
}
