//! Two network namespaces and a veth pair between them.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use capbench_sys::host::{NetNamespace, namespace};

use super::kernel_work::{self, SysfsAccess};
use super::side::joined;
use super::{Bed, BedOptions, Side, privilege, queues};
use crate::links::{Links, PairRequest};
use crate::{HostError, Result};

// Locally administered addresses (IEEE 802: bit 1 of the first byte). Both namespaces are private, so every bed can use the
// same addresses.
const TRANSMIT_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x01];
const RECEIVE_MAC: [u8; 6] = [0x02, 0, 0, 0, 0, 0x02];

/// A namespace with access from outside.
struct Place {
    namespace: Arc<NetNamespace>,
    links: Arc<Links>,
    sysfs: SysfsAccess,
    default_mask_set: bool,
}

pub(super) fn make(options: &BedOptions) -> Result<Bed> {
    let (transmit_name, receive_name) = names();
    let receiving = new_place(|| kernel_work::before_pair(&options.kernel_work))?;
    let sending = new_place(|| Ok(false))?;
    sending.links.create_pair(&PairRequest {
        name: &transmit_name,
        peer_name: &receive_name,
        peer_namespace: &receiving.namespace,
        mac: TRANSMIT_MAC,
        peer_mac: RECEIVE_MAC,
        mtu: options.mtu,
        queues: options.queues.get().into(),
    })?;
    receiving.links.set_up_without_arp(&receive_name)?;
    sending.links.set_up_without_arp(&transmit_name)?;

    let transmit = sending.side(&transmit_name, options.mtu)?;
    let receive = receiving.side(&receive_name, options.mtu)?;
    let mut report = kernel_work::place(
        &options.kernel_work,
        &transmit,
        &receive,
        &receiving.sysfs,
        receiving.default_mask_set,
    )?;
    if options.queues.get() > 1 {
        report.set_by = format!("{}; {}", report.set_by, queues::spread_flows(&transmit, &sending.sysfs)?);
    }
    Ok(Bed { transmit, receive, kernel_work: Some(report), is_virtual: true, sink: OnceLock::new() })
}

impl Place {
    /// The end named `name`, after a check that it is as requested.
    fn side(&self, name: &str, mtu: u32) -> Result<Side> {
        let link = self.links.by_name(name)?;
        if !(link.up && link.carrier && link.no_arp && link.mtu == mtu) {
            let reason = format!(
                "the kernel made it otherwise than asked (up {}, carrier {}, ARP off {}, MTU {} for {mtu}); please \
                 report this",
                link.up, link.carrier, link.no_arp, link.mtu
            );
            return Err(HostError::Interface { interface: name.into(), reason });
        }
        Ok(Side::new(Arc::clone(&self.namespace), Arc::clone(&self.links), link))
    }
}

/// Makes a namespace on a new thread that then ends, so that the caller's namespace does not change. `prepare` runs inside
/// before any interface exists.
fn new_place(prepare: impl FnOnce() -> Result<bool> + Send) -> Result<Place> {
    let work = || {
        let namespace = namespace::unshare_net().map_err(privilege::namespace_refused)?;
        silence()?;
        Ok(Place {
            namespace: Arc::new(namespace),
            links: Arc::new(Links::of_current_namespace()?),
            sysfs: SysfsAccess::of_current_namespace(),
            default_mask_set: prepare()?,
        })
    };
    std::thread::scope(|scope| joined(scope.spawn(work).join()))
}

/// Disables IPv6 for future interfaces of the calling thread's namespace. Otherwise an interface that comes up would send
/// router solicitations and duplicate address detection during the trial.
fn silence() -> Result<()> {
    for which in ["all", "default"] {
        // /proc/sys/net shows the namespace of the thread that opens it (fs/proc/proc_sysctl.c).
        let path = format!("/proc/sys/net/ipv6/conf/{which}/disable_ipv6");
        match std::fs::write(&path, "1") {
            Ok(()) => {}
            // A kernel without IPv6 sends nothing.
            Err(source) if source.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(HostError::writing(path, source)),
        }
    }
    Ok(())
}

/// Names of the two ends. They need to be unique only in their namespaces. But they differ between processes and beds, because
/// NAPI threads carry the interface's name. Up to ten bytes, so that the kernel does not cut it there.
fn names() -> (String, String) {
    /// No hexadecimal digits, so that number and letter cannot be confused.
    const LETTERS: &[u8] = b"ghijklmnopqrstuvwxyz";
    static BEDS: AtomicU32 = AtomicU32::new(0);
    let bed = BEDS.fetch_add(1, Ordering::Relaxed) as usize;
    let letter = char::from(LETTERS[bed % LETTERS.len()]);
    let process = std::process::id();
    (format!("cbt{process:x}{letter}"), format!("cbr{process:x}{letter}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_differ_between_beds() {
        let ((transmit, receive), (next, _)) = (names(), names());
        assert!(transmit.len() <= 10 && receive.len() <= 10);
        assert_ne!(transmit, receive);
        assert_ne!(transmit, next);
        // The largest process number is 2^22 - 1 (PID_MAX_LIMIT).
        assert_eq!(format!("cbt{:x}g", (1 << 22) - 1).len(), 10);
    }
}
