//! Selects where the kernel does a veth's receive work: in the sender's context, or on a chosen CPU.
//!
//! RPS passes each packet to the backlog of another CPU. Its mask can be set before the interface exists, as the default of the
//! namespace (`net.core.rps_default_mask`, per namespace since Linux 6.3); this also works in a user namespace. The mask of an
//! existing queue, the only way before, needs CAP_NET_ADMIN in the initial user namespace (net/core/net-sysfs.c,
//! `store_rps_map`).
//!
//! Threaded NAPI polls the veth in a kernel thread. A veth uses NAPI if GRO is on, and only for senders without TSO
//! (drivers/net/veth.c, `veth_skb_is_eligible_for_gro`). GRO can then join consecutive TCP segments.

use std::io;

use capbench_sys::host::ethtool::{Offload, set_offload};
use capbench_sys::host::{CpuId, SysfsView, ThreadId, affinity};

use super::{Side, cpu_mask};
use crate::accounts::threads::receive_threads;
use crate::{HostError, Result};

const DEFAULT_MASK: &str = "/proc/sys/net/core/rps_default_mask";

/// The context that does the receive work of a virtual pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelWork {
    /// The sending CPU, right after sending: a veth's default. The receive work slows the sender.
    SenderContext,
    /// These CPUs, by receive packet steering: it chooses one for each flow, as a card with a queue for each would.
    Rps(Vec<CpuId>),
    /// These CPUs, by NAPI threads pinned to them: the threads of the queues have the CPUs in turn. Needs root on the host, and
    /// Linux 5.13; with several queues Linux 5.17.
    ThreadedNapi(Vec<CpuId>),
    /// The same with deferred interrupts: a timer wakes a NAPI thread while packets keep arriving (`napi_defer_hard_irqs` and
    /// `gro_flush_timeout`, Linux 5.8).
    DeferredNapi(Vec<CpuId>),
}

/// How the context was set, for the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelWorkReport {
    /// The requested context.
    pub asked: KernelWork,
    /// The setting that was changed, in the host's terms.
    pub set_by: String,
    /// The value read back: the CPUs in the mask of every receive queue, or of the NAPI threads. `None` if the setting cannot be
    /// read (no private sysfs). The packets per CPU ([`crate::accounts::softnet::kernel_cpu_bounds`]) show it in any case.
    pub read_back: Option<Vec<CpuId>>,
}

/// A private sysfs of the receiving namespace, or why there is none.
pub(super) struct SysfsAccess(std::result::Result<SysfsView, String>);

impl SysfsAccess {
    pub fn of_current_namespace() -> Self {
        Self(SysfsView::of_current_namespace().map_err(|error| error.to_string()))
    }

    pub fn view(&self, what: &str) -> Result<&SysfsView> {
        self.0.as_ref().map_err(|reason| {
            HostError::unsupported(what, format!("no private sysfs can be made ({reason})"))
        })
    }
}

/// Call it in the new receiving namespace before the pair exists. Returns whether it set the default mask.
pub(super) fn before_pair(work: &KernelWork) -> Result<bool> {
    let KernelWork::Rps(cpus) = work else { return Ok(false) };
    match std::fs::write(DEFAULT_MASK, cpu_mask::of(cpus)) {
        Ok(()) => Ok(true),
        // Before Linux 6.3 only the initial namespace has the file, and this is not the initial one.
        Err(source) if matches!(source.kind(), io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied) => {
            Ok(false)
        }
        Err(source) if source.raw_os_error() == Some(INVALID) => Err(HostError::unsupported(
            rps_name(cpus),
            "the kernel refuses a CPU: it is isolated (isolcpus, nohz_full) or absent",
        )),
        Err(source) => Err(HostError::writing(DEFAULT_MASK, source)),
    }
}

/// Sets the context if [`before_pair`] could not, and reads it back.
pub(super) fn place(
    work: &KernelWork,
    transmit: &Side,
    receive: &Side,
    sysfs: &SysfsAccess,
    default_mask_set: bool,
) -> Result<KernelWorkReport> {
    match work {
        KernelWork::SenderContext => {
            let read_back = sysfs.view("").ok().map(|view| rps_cpus(view, receive.name())).transpose()?;
            match read_back.as_deref() {
                None | Some([]) => Ok(report(work.clone(), "the veth's default, no RPS", read_back)),
                Some(_) => Err(HostError::unsupported(
                    "receive work on the sender's CPU",
                    "this host turns RPS on for every new interface (net.core.rps_default_mask)",
                )),
            }
        }
        KernelWork::Rps(cpus) => place_rps(cpus, receive, sysfs, default_mask_set),
        KernelWork::ThreadedNapi(cpus) => place_napi(cpus, transmit, receive, sysfs),
        KernelWork::DeferredNapi(cpus) => {
            let threaded = place_napi(cpus, transmit, receive, sysfs)?;
            let set_by = format!("{}, {}", threaded.set_by, defer(receive, sysfs)?);
            Ok(KernelWorkReport { asked: work.clone(), set_by, ..threaded })
        }
    }
}

fn place_rps(
    cpus: &[CpuId],
    receive: &Side,
    sysfs: &SysfsAccess,
    default_mask_set: bool,
) -> Result<KernelWorkReport> {
    let (work, what) = (KernelWork::Rps(cpus.to_vec()), rps_name(cpus));
    let mut wanted = cpus.to_vec();
    wanted.sort_unstable();
    let by_default = format!("net.core.rps_default_mask={}", cpu_mask::of(cpus));
    let view = match sysfs.view(&what) {
        Ok(view) => view,
        Err(_) if default_mask_set => return Ok(report(work, &by_default, None)),
        Err(error) => return Err(error),
    };
    let found = rps_cpus(view, receive.name())?;
    if found == wanted {
        return Ok(report(work, &by_default, Some(found)));
    }
    for path in rps_files(view, receive.name())? {
        view.write(&path, &cpu_mask::of(cpus)).map_err(|error| {
            let reason = format!(
                "Linux before 6.3 sets RPS only for root on the host, outside a user namespace ({error}); run it with \
                 sudo"
            );
            if error.errno() == Some(PERMISSION) { HostError::unsupported(&what, reason) } else { HostError::Sys(error) }
        })?;
    }
    let found = rps_cpus(view, receive.name())?;
    if found != wanted {
        let numbers: Vec<u32> = found.iter().map(|cpu| cpu.number()).collect();
        return Err(HostError::unsupported(
            &what,
            format!("the kernel set CPUs {numbers:?} instead; is the CPU isolated?"),
        ));
    }
    Ok(report(work, &format!("rps_cpus={} of every receive queue", cpu_mask::of(cpus)), Some(found)))
}

fn place_napi(
    cpus: &[CpuId],
    transmit: &Side,
    receive: &Side,
    sysfs: &SysfsAccess,
) -> Result<KernelWorkReport> {
    let what = format!("receive work on CPU {} by threaded NAPI", cpu_mask::list(cpus));
    let view = sysfs.view(&what)?;
    transmit.run(|| set_offload(transmit.name(), Offload::Tso, false))??;
    receive.run(|| set_offload(receive.name(), Offload::Gro, true))??;
    let threaded = format!("class/net/{}/threaded", receive.name());
    view.write(&threaded, "1").map_err(|error| match error.errno() {
        Some(NOT_FOUND) => HostError::unsupported(&what, "it takes Linux 5.12"),
        Some(NOT_SUPPORTED) => {
            HostError::unsupported(&what, "this kernel's veth has no NAPI without XDP; it takes Linux 5.13")
        }
        _ => HostError::Sys(error),
    })?;
    let queues = rps_files(view, receive.name())?.len();
    let threads = napi_threads(receive.name(), queues, &what)?;
    let mut read_back = Vec::new();
    for (thread, cpu) in threads.iter().zip(cpus.iter().cycle()) {
        affinity::pin_thread(*thread, *cpu).map_err(|error| match error.errno() {
            Some(PERMISSION) => HostError::unsupported(
                &what,
                format!(
                    "only root on the host, outside a user namespace, pins a kernel thread ({error}); run it with sudo"
                ),
            ),
            _ => HostError::Sys(error),
        })?;
        read_back.extend(affinity::affinity_of(*thread)?);
    }
    read_back.sort_unstable();
    read_back.dedup();
    let threads: Vec<_> = threads.iter().map(ToString::to_string).collect();
    let pinned = match threads.len() {
        1 => "NAPI thread",
        _ => "NAPI threads of queues 0 and following",
    };
    Ok(report(
        KernelWork::ThreadedNapi(cpus.to_vec()),
        &format!("threaded=1, {pinned} {} pinned", threads.join(",")),
        Some(read_back),
    ))
}

/// Polls without interrupts before they are enabled again, and the time between these polls in nanoseconds: the values that
/// driver authors recommend for busy polling.
const DEFERRED: [(&str, u32); 2] = [("napi_defer_hard_irqs", 2), ("gro_flush_timeout", 200_000)];

/// Defers interrupts and returns what was set.
fn defer(receive: &Side, sysfs: &SysfsAccess) -> Result<String> {
    let what = "deferred interrupts";
    let view = sysfs.view(what)?;
    let mut set = Vec::new();
    for (name, value) in DEFERRED {
        let path = format!("class/net/{}/{name}", receive.name());
        view.write(&path, &value.to_string()).map_err(|error| match error.errno() {
            Some(NOT_FOUND) => HostError::unsupported(what, "it takes Linux 5.8"),
            Some(PERMISSION) => {
                HostError::unsupported(what, "only root on the host sets it; run it with sudo")
            }
            _ => HostError::Sys(error),
        })?;
        set.push(format!("{name}={}", view.read(&path)?.trim()));
    }
    Ok(set.join(", "))
}

/// The NAPI threads of an interface's queues, in the order of the queues. A veth makes its NAPI instances in that order, and the
/// kernel numbers them upwards (`veth_napi_enable_range`, `napi_hash_add`).
fn napi_threads(interface: &str, queues: usize, what: &str) -> Result<Vec<ThreadId>> {
    let all = receive_threads();
    let polling = all.iter().filter(|(_, kind)| kind.polls(interface));
    let mut threads: Vec<_> = polling.map(|(thread, kind)| (kind.napi_id(), *thread)).collect();
    threads.sort_unstable();
    if threads.is_empty() {
        let reason = "its NAPI thread cannot be seen: a PID namespace or hidepid hides it";
        return Err(HostError::unsupported(what, reason));
    }
    if queues > 1 && threads.first().is_some_and(|(id, _)| id.is_none()) {
        let reason = "which NAPI thread polls which queue is unknown: Linux before 5.17 cuts their names; it takes one queue \
                      (--queues 1)";
        return Err(HostError::unsupported(what, reason));
    }
    if threads.len() != queues {
        let reason = format!(
            "{} NAPI threads of {queues} queues can be seen; it takes one queue (--queues 1)",
            threads.len()
        );
        return Err(HostError::unsupported(what, reason));
    }
    Ok(threads.into_iter().map(|(_, thread)| thread).collect())
}

/// The mask files of every receive queue.
fn rps_files(view: &SysfsView, interface: &str) -> Result<Vec<String>> {
    let queues = format!("class/net/{interface}/queues");
    let names = view.list(&queues)?;
    let receiving = names.iter().filter(|name| name.starts_with("rx-"));
    Ok(receiving.map(|name| format!("{queues}/{name}/rps_cpus")).collect())
}

/// The CPUs to which any receive queue passes packets.
fn rps_cpus(view: &SysfsView, interface: &str) -> Result<Vec<CpuId>> {
    let mut cpus = Vec::new();
    for path in rps_files(view, interface)? {
        let text = view.read(&path)?;
        let mask = cpu_mask::parse(&text).ok_or_else(|| HostError::Parse {
            file: "rps_cpus",
            line: text.clone(),
            reason: "expected a mask of CPUs",
        })?;
        cpus.extend(mask);
    }
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

fn rps_name(cpus: &[CpuId]) -> String {
    format!("receive work on CPU {} by RPS", cpu_mask::list(cpus))
}

fn report(asked: KernelWork, set_by: &str, read_back: Option<Vec<CpuId>>) -> KernelWorkReport {
    KernelWorkReport { asked, set_by: set_by.into(), read_back }
}

// errno(3), the same on every Linux architecture that capbench runs on.
const PERMISSION: i32 = 1;
const NOT_FOUND: i32 = 2;
const INVALID: i32 = 22;
const NOT_SUPPORTED: i32 = 95;
