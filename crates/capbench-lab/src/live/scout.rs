//! Finds the CPU on which the kernel does the receive work of a real interface. It changes no setting of the host: it sends a few
//! frames and reads back which CPU processed them.

use capbench_frames::TransmitSpec;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use capbench_frames::layout::FrameLayout;
use capbench_frames::plan::FramePlan;
use capbench_frames::schedule::{Schedule, Turn};
use capbench_frames::sizes::Sizes;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_frames::units::{FrameSize, Mtu};
use capbench_sys::host::{CpuId, affinity};
use capbench_sys::packet::PacketSocket;
use capbench_traffic::transmit::{self, Refusal, TransmitConfig};
use capbench_traffic::{Limits, SendJob};

use crate::Result;
use capbench_host::HostError;
use capbench_host::accounts::softnet::{SoftnetSnapshot, busiest_kernel_cpu};
use capbench_host::bed::{Bed, Placement};
use capbench_model::placement::PlacementChoice;

/// Enough to exceed the other traffic of a quiet host.
const FRAMES: u64 = 2000;
/// Time limit for their arrival.
const PATIENCE: Duration = Duration::from_secs(1);

/// The CPUs for a choice, based on the CPU where the kernel's work was found.
pub(super) fn placement(bed: &Bed, choice: PlacementChoice, layout: FrameLayout) -> Result<Placement> {
    let before = SoftnetSnapshot::read()?;
    // The frames are addressed to another host: a card accepts them only in promiscuous mode.
    let listener = bed.receive_side().run(|| -> Result<PacketSocket> {
        let socket = PacketSocket::open()?;
        socket.set_promiscuous(bed.receive_side().index())?;
        Ok(socket)
    })??;
    let generator = match choice {
        PlacementChoice::Custom { generator, .. } => Some(generator),
        _ => None,
    };
    send(bed, layout, generator)?;
    drop(listener);
    let after = SoftnetSnapshot::read()?;
    let allowed = affinity::allowed_cpus()?;
    let found = busiest_kernel_cpu(&before, &after).map(|(kernel, _)| kernel);
    // Users name `lo` for a device that the kernel does not drive (DPDK): no CPU does its receive work.
    let is_driven = found.is_some() || bed.receive_side().name() != "lo";
    let any = match choice {
        PlacementChoice::Custom { kernel, .. } => Some(kernel),
        _ => allowed.first().copied(),
    };
    let kernel = found.or(any.filter(|_| !is_driven));
    let kernel = kernel.ok_or_else(|| HostError::Interface {
        interface: bed.receive_side().name().into(),
        reason: format!(
            "received nothing of what was sent on {}; are they connected?",
            bed.transmit_side().name()
        ),
    })?;
    let other_than = |taken: &[CpuId]| allowed.iter().copied().find(|cpu| !taken.contains(cpu));
    let application = match choice {
        PlacementChoice::Same => kernel,
        PlacementChoice::Other => other_than(&[kernel]).unwrap_or(kernel),
        PlacementChoice::Custom { application, .. } => application,
    };
    let generator = match choice {
        PlacementChoice::Custom { generator, .. } => generator,
        _ => other_than(&[kernel, application]).or_else(|| other_than(&[application])).unwrap_or(application),
    };
    if let PlacementChoice::Custom { kernel: asked, .. } = choice
        && asked != kernel
    {
        return Err(HostError::Interface {
            interface: bed.receive_side().name().into(),
            reason: format!(
                "its receive work is done on CPU {kernel}, not {asked}; set its interrupt affinity or RPS first"
            ),
        }
        .into());
    }
    let mut placement = Placement::custom(generator, kernel, application)?;
    placement.name = match choice {
        PlacementChoice::Same => "same",
        PlacementChoice::Other => "other",
        PlacementChoice::Custom { .. } => "custom",
    };
    Ok(if is_driven { placement } else { placement.on_undriven_device() })
}

/// Sends frames with an unused trial id, and waits until the receiving interface has counted them. `from` is the CPU that sends:
/// on a virtual link the kernel may do the receive work on that one.
fn send(bed: &Bed, layout: FrameLayout, from: Option<CpuId>) -> Result<()> {
    let side = bed.transmit_side();
    let sizes = Sizes::Fixed(layout.minimum_size().max(FrameSize::LEAST));
    let plan = FramePlan::new(layout, sizes, Mtu(side.mtu()))?;
    let config = TransmitConfig::for_frames(side.index(), &plan, Refusal::Repeat);
    let counted = || -> Result<u64> { Ok(bed.receive_side().stats()?.map_or(0, |stats| stats.rx_packets)) };
    let before = counted()?;
    side.run(|| -> Result<()> {
        if let Some(cpu) = from {
            affinity::pin_current_thread(cpu)?;
        }
        let mut opened = transmit::method(&TransmitSpec::plain("sendmmsg"))?.open(&config)?(0)?;
        let job = SendJob {
            frames: (&plan).into(),
            schedule: &Schedule::Maximum,
            turn: Turn::EVERY,
            limits: Limits { duration: None, frames: Some(FRAMES), stop: &AtomicBool::new(false) },
            trial: TrialId(0),
            stream: StreamId(0),
            progress: None,
            start: Instant::now(),
        };
        opened.sender.send(&job)?.failure.map_or(Ok(()), |failure| Err(failure.into()))
    })??;
    let start = Instant::now();
    while counted()? < before + FRAMES && start.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
    Ok(())
}
