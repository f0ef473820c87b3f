//! The CPUs on which a thread may run: `sched_setaffinity(2)`, `sched_getaffinity(2)`.

use super::{ThreadId, every_thread, proc_file, thread};
use crate::error::check;
use crate::{Result, SysError};

/// The kernel's number of a logical CPU (`/proc/cpuinfo`, from 0).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct CpuId(u32);

const WORD_BITS: usize = libc::c_ulong::BITS as usize;

/// More CPUs than any Linux is built for (`CONFIG_NR_CPUS` is at most 8192); a larger number is a typing error.
const MOST_CPUS: usize = 65_536;

impl CpuId {
    /// CPU number `number`; its existence is not checked here.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The kernel's number of this CPU.
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// Restricts the calling thread to `cpu`.
///
/// # Errors
/// `EINVAL` if the CPU does not exist, is offline or is outside the process's cpuset (sched_setaffinity(2)).
pub fn pin_current_thread(cpu: CpuId) -> Result<()> {
    // 0 means the calling thread.
    restrict(0, &[cpu], || format!("sched_setaffinity(CPU {cpu})"))
}

/// Restricts the calling thread to `cpus`.
///
/// # Errors
/// `EINVAL` if none of the CPUs can be used.
pub fn restrict_current_thread(cpus: &[CpuId]) -> Result<()> {
    restrict(0, cpus, || "sched_setaffinity".into())
}

/// Restricts the thread `thread`, of any process, to `cpu`.
///
/// # Errors
/// `ESRCH` if the thread has ended, `EPERM` if it belongs to another user and the process lacks CAP_SYS_NICE in the initial
/// user namespace, `EINVAL` as for [`pin_current_thread`].
pub fn pin_thread(thread: ThreadId, cpu: CpuId) -> Result<()> {
    restrict(thread.raw(), &[cpu], || format!("sched_setaffinity(thread {thread}, CPU {cpu})"))
}

/// Restricts every thread of the calling process to `cpus`, and so the threads that they start later.
///
/// # Errors
/// `EINVAL` if none of the CPUs can be used.
pub fn restrict_process(cpus: &[CpuId]) -> Result<()> {
    let own = thread::current_thread().raw();
    let others = every_thread::threads()?.into_iter().filter(|thread| *thread != own);
    // The calling thread first: what it starts is restricted from then on.
    for thread in [own].into_iter().chain(others) {
        match restrict(thread, cpus, || format!("sched_setaffinity(thread {thread})")) {
            // It has ended meanwhile.
            Err(error) if error.errno() == Some(libc::ESRCH) => {}
            restricted => restricted?,
        }
    }
    Ok(())
}

/// The CPUs that the calling thread may run on, ascending (sched_getaffinity(2)).
pub fn allowed_cpus() -> Result<Vec<CpuId>> {
    affinity(0)
}

/// The CPUs that the thread `thread` may run on, ascending (sched_getaffinity(2)).
pub fn affinity_of(thread: ThreadId) -> Result<Vec<CpuId>> {
    affinity(thread.raw())
}

/// The online CPUs of this host, ascending, including those that the process may not use (`/sys/devices/system/cpu/online`,
/// Documentation/admin-guide/cputopology.rst).
pub fn online_cpus() -> Result<Vec<CpuId>> {
    const FILE: &str = "/sys/devices/system/cpu/online";
    let text = proc_file::read(FILE)?;
    parse_cpu_list(&text)
        .ok_or_else(|| SysError::argument(FILE, format!("not a list of CPUs: {:?}", text.trim())))
}

/// Parses a CPU list in the kernel's notation (`0-3,8`, cpuset(7) "List format"), ascending and without repetition. `None` if
/// the text is no list or names a CPU above 65535.
pub fn parse_cpu_list(text: &str) -> Option<Vec<CpuId>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        if first > last || last as usize >= MOST_CPUS {
            return None;
        }
        cpus.extend((first..=last).map(CpuId));
    }
    cpus.sort_unstable();
    cpus.dedup();
    Some(cpus)
}

fn restrict(thread: libc::pid_t, cpus: &[CpuId], what: impl Fn() -> String) -> Result<()> {
    let mut mask = Vec::new();
    for cpu in cpus {
        let number = cpu.0 as usize;
        if number >= MOST_CPUS {
            return Err(SysError::argument(what(), format!("no kernel has a CPU {cpu}")));
        }
        mask.resize(mask.len().max(number / WORD_BITS + 1), 0);
        mask[number / WORD_BITS] |= (1 as libc::c_ulong) << (number % WORD_BITS);
    }
    // SAFETY: sched_setaffinity(2) reads exactly `size` bytes behind the pointer; `mask` is alive for the call and
    // `size` is its length in bytes. The kernel takes any length, so that this need not be a whole cpu_set_t.
    let code = unsafe { libc::sched_setaffinity(thread, size_of_val(mask.as_slice()), mask.as_ptr().cast()) };
    check(code, what).map(drop)
}

fn affinity(tid: libc::pid_t) -> Result<Vec<CpuId>> {
    let mut words = 1024 / WORD_BITS;
    loop {
        let mut mask = vec![0 as libc::c_ulong; words];
        // SAFETY: sched_getaffinity(2) writes at most `size` bytes behind the pointer; `mask` is exclusively ours,
        // alive for the call, and `size` is its length in bytes.
        let code =
            unsafe { libc::sched_getaffinity(tid, size_of_val(mask.as_slice()), mask.as_mut_ptr().cast()) };
        match check(code, || "sched_getaffinity".into()) {
            Ok(_) => return Ok(cpus_of(&mask)),
            // The kernel was built for more CPUs than the mask has bits (sched_getaffinity(2), NOTES).
            Err(error) if error.errno() == Some(libc::EINVAL) && words * WORD_BITS < MOST_CPUS => words *= 2,
            Err(error) => return Err(error),
        }
    }
}

fn cpus_of(mask: &[libc::c_ulong]) -> Vec<CpuId> {
    let bits = (0u32..).zip(mask.iter().flat_map(|word| (0..WORD_BITS).map(move |bit| word >> bit & 1 == 1)));
    bits.filter(|(_, set)| *set).map(|(number, _)| CpuId(number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_the_kernel_writes_them() {
        let list =
            |text: &str| parse_cpu_list(text).map(|cpus| cpus.into_iter().map(CpuId::number).collect());
        for (text, cpus) in [("0-1\n", vec![0, 1]), ("0", vec![0]), ("0-2,64,8-9", vec![0, 1, 2, 8, 9, 64])] {
            assert_eq!(list(text), Some(cpus), "{text:?}");
        }
        for text in ["", "a", "1-", "-1", "3-1", "0,,1", "0-99999999", "4294967296", "0x1"] {
            assert_eq!(list(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_mask_is_read_in_the_kernels_order() {
        assert_eq!(cpus_of(&[0b101, 1]), [CpuId(0), CpuId(2), CpuId(WORD_BITS as u32)]);
    }

    #[test]
    fn a_thread_runs_where_it_is_pinned() {
        std::thread::spawn(|| {
            let cpu = *allowed_cpus().unwrap().last().unwrap();
            pin_current_thread(cpu).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [cpu]);
            assert!(online_cpus().unwrap().contains(&cpu));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_by_name() {
        for number in [9_999, u32::MAX] {
            let error = pin_current_thread(CpuId(number)).unwrap_err().to_string();
            assert!(error.contains(&format!("CPU {number}")), "{error}");
        }
    }
}
