//! Trials on a real path: this program's test bed, or two interfaces. An interface can be another process's, also on another host
//! ([`ends`]).

mod calibration;
pub mod ends;
mod far_end;
mod generators;
pub mod halves;
mod host;
mod in_turns;
mod interface_counts;
mod join;
pub mod line_rate;
pub mod messages;
mod nic;
mod numbering;
mod pace;
mod receive_side;
mod run;
mod scout;
mod senders;
mod tracing;
mod transmit_side;
mod worker;

use std::num::NonZeroU16;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use capbench_frames::plan::FramePlan;
use capbench_frames::rates::Pps;
use capbench_frames::stamp::{StreamId, TrialId};
use capbench_frames::units::Mtu;

use capbench_host::HostError;
use capbench_host::accounts::irqtime::IrqAccounting;
use capbench_host::bed::{Bed, BedOptions, KernelWork, KernelWorkReport, Placement, cpus_from};
use capbench_model::environment::interface::{self, PathInterface};
use capbench_model::statement::{KernelWorkSetting, Statement};

use capbench_sys::host::{CpuId, affinity};
use capbench_traffic::transmit;

use crate::programs::Programs;
use crate::subject::{self, ReceiveBy, Subject};
use crate::{LabError, Result};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::{LoadDepends, PlacementChoice};
use capbench_model::saved::Saved;
use capbench_model::traffic::Traffic;
use capbench_model::trial::{Cpus, Profile, Trial};
use in_turns::{BothSides, KeptSides, PrepareBoth};
use messages::{HostCpus, PrepareReceiving, PrepareSending};

pub use host::Host;
pub use interface_counts::InterfaceCounts;
pub use join::SeparateClocks;
pub use numbering::Numbering;
pub use receive_side::ReceiveSide;
pub use run::LiveTrial;
pub use senders::{Sender, Senders};
pub use tracing::End;
pub use transmit_side::TransmitSide;

/// Interval at which a pause checks whether the user wants to stop.
const LOOK_FOR_STOP: Duration = Duration::from_millis(50);

/// The path of trials.
#[derive(Clone, Debug)]
pub enum Path {
    /// A veth pair between two namespaces, created for the trials.
    Virtual {
        /// Its MTU.
        mtu: Mtu,
        /// How the kernel's receive work reaches its CPU.
        receive_by: ReceiveBy,
        /// Queues of both ends; the receive work is spread over as many CPUs, as far as there are some.
        queues: NonZeroU16,
    },
    /// Interfaces of this host.
    Interfaces {
        /// The interface that sends.
        transmit: String,
        /// The interface that receives.
        receive: String,
        /// The user's assertion that the link carries no other traffic (RFC 6815).
        isolated: bool,
    },
}

impl Path {
    /// Highest frame rate for a set-up's sizes in frames per second, as the interfaces report it; `None` if they have no speed.
    /// It creates and sends nothing.
    ///
    /// # Errors
    /// When interfaces do not exist or may not be used, as when a trial is prepared.
    pub fn line_rate(&self, setup: &Setup) -> Result<Option<Pps>> {
        match self {
            Self::Virtual { .. } => Ok(None),
            Self::Interfaces { transmit, receive, isolated } => {
                let bed = Bed::real(transmit, receive, *isolated)?;
                line_rate::of(&bed, setup.sizes.sequence(&setup.layout)?.mean_octets())
            }
        }
    }
}

/// What a bed is made for: which CPUs do what, how its kernel work is done, and from how many threads frames come.
type BedKey = (PlacementChoice, Option<ReceiveBy>, NonZeroU16);

/// Runs trials on a path.
#[derive(Debug)]
pub struct LiveLaboratory {
    path: Path,
    host: Host,
    /// First trial id of this run; differs between runs so that a run ignores leftovers of another.
    base: u16,
    numbering: Numbering,
    /// The bed of the set-up that was prepared last, at the end. While methods take turns on links that are made for the trials, each
    /// link stays for its next turn.
    beds: Vec<BedInUse>,
    statements: Vec<Statement>,
    interfaces: Vec<PathInterface>,
    programs: Programs,
    line_rate: Option<Pps>,
    are_in_turns: bool,
}

/// A bed, and what it was made for.
#[derive(Debug)]
struct BedInUse {
    key: BedKey,
    /// What stays prepared on it while methods take turns. It ends before the bed.
    kept: KeptSides,
    bed: Arc<Bed>,
    placement: Placement,
}

impl LiveLaboratory {
    /// A laboratory whose trials end early when `stop` becomes true.
    pub fn new(path: Path, irq: IrqAccounting, stop: Arc<AtomicBool>) -> Self {
        let base = (std::process::id() as u16).wrapping_mul(0x9e37);
        Self {
            path,
            host: Host::new(irq, stop),
            base,
            numbering: Numbering::default(),
            beds: Vec::new(),
            statements: Vec::new(),
            interfaces: Vec::new(),
            programs: Programs::default(),
            line_rate: None,
            are_in_turns: false,
        }
    }

    /// Sets the link's known frame rate. It replaces the speed that the interfaces report.
    pub fn with_line_rate(mut self, line_rate: Pps) -> Self {
        self.line_rate = Some(line_rate);
        self
    }

    /// Adds a tracer: the ledger has more sources, and the kernel's CPU time does not come in ticks. The tracer costs kernel time
    /// per packet.
    pub fn with_tracer(mut self) -> Self {
        self.host.trace(None);
        self
    }

    /// Keeps the tracer of drops at any cost: otherwise drops are not traced where every frame ends as one and that costs too much.
    pub fn tracing_always(mut self) -> Self {
        self.host.traces_always = true;
        self
    }

    /// Adds a tracer that reads the description of the kernel's types (BTF) from this file instead of the kernel's own.
    pub fn with_tracer_on(mut self, types: &std::path::Path) -> Self {
        self.host.trace(Some(types));
        self
    }

    /// Adds these programs for `cmd:`.
    pub fn with_programs(mut self, programs: Programs) -> Self {
        self.programs = programs;
        self
    }

    /// The bed for trials of `setup` from now on: its interfaces and their namespaces. It stays in use until a set-up with
    /// another placement or way to receive is prepared.
    ///
    /// # Errors
    /// Those errors of [`Laboratory::prepare`] that concern the path.
    pub fn bed_of(&mut self, setup: &Setup) -> Result<Arc<Bed>> {
        let named = subject::find(&setup.method, &self.programs)?;
        Ok(Arc::clone(&self.bed(setup, named.receive_by)?.bed))
    }

    /// The interfaces of prepared set-ups, each in its state before the first capture.
    pub fn interfaces(&self) -> &[PathInterface] {
        &self.interfaces
    }

    /// The bed for a placement and a way to receive: one that is in use, or a new one.
    fn bed(&mut self, setup: &Setup, wanted: Option<ReceiveBy>) -> Result<&mut BedInUse> {
        let (choice, threads) = (setup.placement, generator_threads(setup)?);
        let key = (choice, wanted, threads);
        let bed = match self.beds.iter().position(|used| used.key == key) {
            Some(nth) => self.beds.remove(nth),
            None => {
                if !self.are_in_turns || matches!(self.path, Path::Interfaces { .. }) {
                    self.beds.clear();
                }
                let (bed, placement) = self.new_bed(setup, wanted, threads)?;
                BedInUse { key, kept: KeptSides::default(), bed: Arc::new(bed), placement }
            }
        };
        self.beds.push(bed);
        let last = self.beds.len() - 1;
        Ok(&mut self.beds[last])
    }

    fn new_bed(
        &mut self,
        setup: &Setup,
        wanted: Option<ReceiveBy>,
        threads: NonZeroU16,
    ) -> Result<(Bed, Placement)> {
        let choice = setup.placement;
        let (bed, placement) = match &self.path {
            Path::Virtual { mtu, receive_by, queues } => {
                let placement = match choice {
                    PlacementChoice::Same => Placement::same()?,
                    PlacementChoice::Other => Placement::other()?,
                    PlacementChoice::Custom { generator, kernel, application } => {
                        Placement::custom(generator, kernel, application)?
                    }
                };
                let queued = |placement: Placement| {
                    let generators = placement.generators(threads)?;
                    placement.with_queues(*queues, &generators)
                };
                let placement = queued(placement)?;
                let make = |placement: &Placement| {
                    let kernels = || placement.kernels.clone();
                    let kernel_work = match (wanted.unwrap_or(*receive_by), placement.kernel_work()) {
                        (ReceiveBy::NapiThread, _) => KernelWork::ThreadedNapi(kernels()),
                        (ReceiveBy::NapiDeferred, _) => KernelWork::DeferredNapi(kernels()),
                        (ReceiveBy::Driver, KernelWork::Rps(_)) => KernelWork::ThreadedNapi(kernels()),
                        (ReceiveBy::Rps | ReceiveBy::Driver, usual) => usual,
                    };
                    Bed::virtual_pair(&BedOptions { mtu: mtu.0, queues: *queues, kernel_work })
                };
                match make(&placement) {
                    // The bed's statement explains the effect on the load.
                    Err(HostError::Unsupported { .. }) if choice == PlacementChoice::Other => {
                        let placement = Placement::other_in_sender_context()?;
                        (make(&placement)?, placement)
                    }
                    made => (made?, placement),
                }
            }
            Path::Interfaces { transmit, receive, isolated } => {
                if let Some(ReceiveBy::NapiThread | ReceiveBy::NapiDeferred) = wanted {
                    return Err(LabError::Unsupported {
                        what: "a setting of the path".into(),
                        reason: "capbench changes no setting of a host's interface; it can on its own link"
                            .into(),
                    });
                }
                let bed = Bed::real(transmit, receive, *isolated)?;
                let placement = scout::placement(&bed, choice, setup.layout)?;
                (bed, placement)
            }
        };
        self.state(Statement::Placement {
            placement: choice.to_string().into(),
            is_decided_elsewhere: wanted.is_some(),
            cpus: placement.tasks(),
            set_by: bed.kernel_work().map(kernel_work_setting),
        });
        interface::note(
            &mut self.interfaces,
            capbench_host::environment::interface::of_bed(&bed, choice.name()),
        );
        Ok((bed, placement))
    }

    /// Adds a statement, once.
    fn state(&mut self, statement: Statement) {
        if !self.statements.contains(&statement) {
            self.statements.push(statement);
        }
    }

    fn trial(&mut self, setup: &Setup) -> Result<LiveTrial<'_>> {
        let unsupported = |reason| LabError::Unsupported { what: setup.method.to_string(), reason };
        let named = subject::find(&setup.method, &self.programs)?;
        let used = self.bed(setup, named.receive_by).map_err(|error| match error {
            // A path setting in the method's own name is independent of the placement.
            LabError::Unsupported { reason, .. } if named.receive_by.is_some() => unsupported(reason),
            other => other,
        })?;
        let (bed, placement) = (Arc::clone(&used.bed), used.placement.clone());
        let mtu = Mtu(bed.transmit_side().mtu().min(bed.receive_side().mtu()));
        let plan = FramePlan::new(setup.layout, setup.sizes.clone(), mtu)?;
        self.host.watch(&[(End::Transmit, bed.transmit_side()), (End::Receive, bed.receive_side())])?;
        let threads = generator_threads(setup)?;
        let generators = placement.generators(threads)?;
        let placement = placement.with_generators(&generators);
        if threads.get() > 1 {
            self.state(Statement::GeneratorThreads { cpus: placement.tasks() });
        }
        if let Some(members) = named.subject.members() {
            let cpus = cpus_from(placement.application, &affinity::allowed_cpus()?, &generators);
            if usize::from(members.count.get()) > cpus.len() {
                let method = Saved::Known(setup.method.clone());
                self.state(Statement::MembersShareCpus { method, cpus: cpus.len() as u32 });
            }
        }
        let is_method = matches!(named.subject, Subject::Capture { .. });
        let sink = self.host.tracing.end_frames(&bed)?.filter(|_| is_method);
        let line_rate = match self.line_rate {
            Some(known) => Some(known),
            None => line_rate::of(&bed, plan.sizes().mean_octets())?,
        };
        let profile = profile(setup, &named.subject, &plan, &placement);
        let (sending, receiving) = messages_for(setup, &bed, &placement, &generators, mtu);
        let asked = PrepareBoth {
            sending,
            receiving,
            subject: &named.subject,
            transmit_side: bed.transmit_side(),
            receive_side: bed.receive_side(),
            threads,
        };
        for used in &mut self.beds {
            used.kept.wait_until_closed();
        }
        let BothSides { senders, receive } = match self.beds.last_mut() {
            Some(used) if self.are_in_turns => used.kept.prepare(asked, &self.host)?,
            _ => asked.once(&self.host)?,
        };
        Ok(LiveTrial {
            numbering: &mut self.numbering,
            base: TrialId(self.base),
            profile,
            is_virtual: bed.is_virtual(),
            line_rate,
            burst: setup.burst,
            clocks: None,
            senders,
            receive,
            tracer: self.host.tracing.tracer().cloned(),
            traces_always: self.host.traces_always,
            in_turns: self.are_in_turns,
            sink,
        })
    }
}

/// What both sides of the trials of a set-up are prepared for, on this host.
fn messages_for(
    setup: &Setup,
    bed: &Bed,
    placement: &Placement,
    generators: &[CpuId],
    mtu: Mtu,
) -> (PrepareSending, PrepareReceiving) {
    let receiving = PrepareReceiving {
        setup: setup.clone(),
        streams: generators.len() as u16,
        untimed: Vec::new(),
        mtu,
        cpus: HostCpus {
            generators: generators.to_vec(),
            kernels: placement.kernels.clone(),
            application: placement.application,
        },
        is_virtual: bed.is_virtual(),
        polls_by_thread: bed.polls_by_thread(),
    };
    let sending = PrepareSending {
        stream: StreamId(0),
        transmit: setup.transmit.clone(),
        layout: setup.layout,
        sizes: setup.sizes.clone(),
        mtu,
        cpus: generators.to_vec(),
        is_virtual: bed.is_virtual(),
    };
    (sending, receiving)
}

impl Laboratory for LiveLaboratory {
    fn prepare(&mut self, setup: &Setup) -> capbench_model::Result<Box<dyn Trial + '_>> {
        Ok(Box::new(self.trial(setup)?))
    }

    fn rest(&mut self, while_idle: Duration) {
        let until = Instant::now() + while_idle;
        while !self.host.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(LOOK_FOR_STOP));
        }
    }

    fn take_turns(&mut self, are_in_turns: bool) {
        self.are_in_turns = are_in_turns;
        if !are_in_turns {
            self.beds.drain(..self.beds.len().saturating_sub(1));
            for used in &mut self.beds {
                used.kept = KeptSides::default();
            }
        }
    }

    fn number_after(&mut self, last: u32) {
        self.numbering.last = last;
    }

    fn statements(&self) -> Vec<Statement> {
        let mut statements = self.statements.clone();
        if self.beds.last().is_some_and(|used| used.bed.is_virtual()) {
            statements.push(Statement::VirtualLink);
        }
        statements.extend(self.host.tracing.statement());
        statements
    }
}

/// What moves the kernel's receive work to its CPU.
fn kernel_work_setting(work: &KernelWorkReport) -> KernelWorkSetting {
    let mut read_back = Vec::new();
    for cpu in work.read_back.iter().flatten() {
        read_back.push(cpu.number());
    }
    KernelWorkSetting { by: work.set_by.clone(), read_back }
}

/// How many threads a generator of the set-up has.
///
/// # Errors
/// The name is that of no transmit method.
pub fn generator_threads(setup: &Setup) -> Result<NonZeroU16> {
    Ok(transmit::method(&setup.transmit)?.threads)
}

/// What is constant in the trials of a set-up on these CPUs.
pub fn profile(setup: &Setup, subject: &Subject, plan: &FramePlan, placement: &Placement) -> Profile {
    Profile {
        method: Saved::Known(setup.method.clone()),
        frame_size: setup.label(),
        mean_frame_size: plan.sizes().mean_octets(),
        traffic: Saved::Known(Traffic::of_plan(plan, setup.burst)),
        transmit: Saved::Known(setup.transmit.clone()),
        placement: Saved::Known(setup.placement.name()),
        cpus: Cpus {
            generator: placement.generator.number(),
            kernel: Some(placement.kernel.number()),
            application: placement.application.number(),
        },
        load_independent: placement.load_independent,
        load_depends: (!placement.load_independent).then(|| LoadDepends::SharedCpus(placement.tasks())),
        load_depends_because: None,
        work: Saved::Known(subject.work(setup.work)),
    }
}
