//! Flags that several commands have; letters mean what they mean to tcpdump.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;

use capbench_capture::fanout_choice::FanoutChoice;
use capbench_capture::filter::{FilterText, Optimise};
use capbench_capture::{CaptureError, Method};
use capbench_frames::{Flows, FrameLayout, MacAddress, Network, TransmitSpec, Transport, VlanTag};
use capbench_judge::comparison::Thresholds;
use capbench_lab::programs::Programs;
use capbench_lab::subject::{self, PathSetting, Subject};
use capbench_model::direction::Direction;
use capbench_model::fanout::Fanout;
use capbench_model::figures::shortest;
use capbench_model::members::members;
use capbench_model::method_spec::{MethodSpec, OWN_WORK};
use capbench_model::options::CaptureOptions;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::host::{CpuId, affinity};
use capbench_traffic::transmit::Chosen;
use clap::Args;

use crate::exit::Usage;
use crate::flag_values::{duration, share};

/// With this time until a partly filled block is delivered, blocks of 1 MiB are full before, down to 100,000 small packets/s.
pub const FULL_BLOCKS: Duration = Duration::from_millis(100);

#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Capture")]
pub struct CaptureFlags {
    /// Memory for the ring, or the receive buffer of methods without one [default: 64MiB; of count and record with packet-v3
    /// less]
    #[arg(long, value_name = "SIZE")]
    ring: Option<ByteCount>,
    /// The same as for tcpdump: a number without a unit is KiB
    #[arg(short = 'B', long, value_name = "KIB", value_parser = buffer_size, conflicts_with = "ring")]
    buffer_size: Option<ByteCount>,
    /// Block size of rings [default: 1MiB]
    #[arg(long, value_name = "SIZE")]
    block: Option<ByteCount>,
    /// Slot size of packet-v1 and packet-v2, buffer size of af-xdp (2KiB or 4KiB) [default: holds a frame of the
    /// interface's MTU]
    #[arg(long, value_name = "SIZE")]
    frame: Option<ByteCount>,
    /// When packet-v3 and libpcap return a partly filled block [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub retire_timeout: Option<Duration>,
    /// Octets to capture of each frame; 0: everything [default: 262144]
    #[arg(short = 's', long, value_name = "OCTETS")]
    snaplen: Option<u32>,
    /// Do not put the interface into promiscuous mode
    #[arg(short = 'p', long)]
    no_promiscuous: bool,
    /// How long to look for frames again and again before sleeping [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    spin: Option<Duration>,
    /// Which frames: in, out or inout [default: in; of record and extcap: inout, as of tcpdump]
    #[arg(short = 'Q', long, value_name = "DIRECTION")]
    pub direction: Option<Direction>,
    /// Arguments for the environment layer of DPDK, in one word; they follow capbench's own
    #[arg(long, value_name = "ARGUMENTS", allow_hyphen_values = true)]
    eal: Option<String>,
}

impl CaptureFlags {
    /// Refuses flags that none of the methods uses, and names the methods that do not use a flag that others use.
    pub fn check_used(&self, methods: &[MethodSpec], programs: &Programs) -> anyhow::Result<()> {
        let flags = [
            ("--ring", self.ring().is_some()),
            ("--block", self.block.is_some()),
            ("--frame", self.frame.is_some()),
            ("--retire-timeout", self.retire_timeout.is_some()),
            ("--snaplen", self.snaplen.is_some()),
            ("--no-promiscuous", self.no_promiscuous),
            ("--spin", self.spin.is_some()),
            ("--direction", self.direction.is_some()),
            ("--eal", self.eal.is_some()),
        ];
        for (flag, _) in flags.into_iter().filter(|(_, is_set)| *is_set) {
            let mut without = Vec::new();
            for name in methods {
                if !subject::find(name, programs)?.subject.options().contains(&flag) {
                    without.push(name.to_string());
                }
            }
            let (names, others) = (without.join(", "), without.len() < methods.len());
            if !others && !without.is_empty() {
                return Err(Usage(format!("{flag} has no effect on {names}; see capbench methods")).into());
            }
            if !without.is_empty() {
                tell!("capbench: {flag} has no effect on {names}");
            }
        }
        Ok(())
    }

    /// The options that the flags ask for, with other defaults for a ring that packs frames of any size, as packet-v3's does, and
    /// the time after which it delivers a partly filled block. The kernel clears all of the ring when it is opened, which can
    /// take longer than to record the frames of a second.
    pub fn options_of_packed_ring(
        &self,
        method: &Method,
        retire_timeout: Option<Duration>,
    ) -> CaptureOptions {
        let mut options = self.options();
        options.retire_timeout = self.retire_timeout.or(retire_timeout).unwrap_or(options.retire_timeout);
        if self.ring().is_none() && method.options.contains(&"--retire-timeout") {
            // Blocks that are delivered sooner are hardly filled: it takes more of them to survive a pause.
            options.ring = ByteCount(if options.retire_timeout >= FULL_BLOCKS { 8 << 20 } else { 32 << 20 });
        }
        options
    }

    /// The memory of the ring, if the user states it.
    fn ring(&self) -> Option<ByteCount> {
        self.ring.or(self.buffer_size)
    }

    /// The options that the flags ask for.
    pub fn options(&self) -> CaptureOptions {
        let default = CaptureOptions::default();
        let eal = self.eal.iter().flat_map(|text| text.split_whitespace());
        CaptureOptions {
            ring: self.ring().unwrap_or(default.ring),
            block: self.block.unwrap_or(default.block),
            frame: self.frame,
            retire_timeout: self.retire_timeout.unwrap_or(default.retire_timeout),
            snap_length: self.snaplen.map_or(default.snap_length, SnapLength::new),
            promiscuous: !self.no_promiscuous,
            spin: self.spin.unwrap_or(default.spin),
            direction: self.direction.unwrap_or(default.direction),
            eal_arguments: eal.map(String::from).collect(),
            ..default
        }
    }
}

/// tcpdump's unit, unless one is given.
fn buffer_size(text: &str) -> Result<ByteCount, String> {
    if text.bytes().all(|letter| letter.is_ascii_digit()) {
        format!("{text}KiB").parse()
    } else {
        text.parse()
    }
}

/// How several threads share the packets of an interface: the flags of every command that has them.
#[derive(Args, Clone, Debug)]
pub struct MembersFlags {
    /// How captures share the packets of each interface: by hash or bpf (by flow), cpu, queue, lb (in turn) or rollover; bpf:FILE
    /// (a program as a filter's, in numbers) or ebpf:PATH (a pinned one) chooses by its result [default: hash; of af-xdp and dpdk
    /// queue]
    #[arg(long, value_name = "MODE")]
    pub fanout: Option<FanoutChoice>,
    /// How many captures share the packets of an interface, each in its thread
    #[arg(long, value_name = "N", value_parser = members)]
    pub members: Option<NonZeroU16>,
}

/// Why `--fanout` without `--members` is refused.
pub const FANOUT_OF_ONE: &str = "--fanout: one thread shares no frames; give --members N";

impl MembersFlags {
    /// How many there are.
    pub fn count(&self) -> usize {
        self.members.map_or(1, |members| members.get().into())
    }

    /// Finds a mistake that shows before the method is known.
    ///
    /// # Errors
    /// One capture has nothing to share.
    pub fn check(&self) -> Result<(), Usage> {
        match (&self.fanout, self.members) {
            (Some(_), None) => Err(Usage(FANOUT_OF_ONE.into())),
            _ => Ok(()),
        }
    }

    /// The group that they are; `None`: one capture has all packets.
    ///
    /// # Errors
    /// There is no such program, or [`Self::check`] finds a mistake.
    pub fn group(&self, method: &MethodSpec) -> anyhow::Result<Option<Fanout>> {
        self.check()?;
        let Some(members) = self.members else { return Ok(None) };
        let group = match &self.fanout {
            None => Fanout::new(method.usual_fanout()).with_members(members),
            Some(choice) => choice.group()?.with_members(members),
        };
        Ok(Some(group))
    }
}

/// Which packets.
#[derive(Args, Clone, Debug)]
pub struct FilterFlags {
    /// Which packets: an expression of pcap-filter(7), or a program as tcpdump -ddd prints it
    #[arg(value_name = "FILTER")]
    filter: Vec<String>,
    /// Read the filter from a file; the one on the command line is ignored
    #[arg(short = 'F', long, value_name = "FILE")]
    filter_file: Option<PathBuf>,
    /// Do not let libpcap optimise the filter's program
    #[arg(short = 'O', long)]
    no_optimise: bool,
}

impl FilterFlags {
    /// The filter; `None` for every packet.
    ///
    /// # Errors
    /// A program or a file that is no filter.
    pub fn text(&self) -> Result<Option<FilterText>, CaptureError> {
        let text = match &self.filter_file {
            Some(file) => FilterText::of_file(file)?,
            None => FilterText::of_expression(&self.filter.join(" "))?,
        };
        Ok((text != FilterText::Expression(String::new())).then_some(text))
    }

    /// How libpcap compiles it.
    pub fn optimise(&self) -> Optimise {
        if self.no_optimise { Optimise::No } else { Optimise::Yes }
    }
}

/// The method of a command that captures by itself, on an unmodified interface.
pub fn own_method(text: &str) -> anyhow::Result<MethodSpec> {
    let spec: MethodSpec = text.parse().map_err(Usage)?;
    check_own_method(&spec)?;
    Ok(spec)
}

/// Whether a command that captures by itself, on an unmodified interface, can use the method.
pub fn check_own_method(spec: &MethodSpec) -> anyhow::Result<()> {
    let refuse = |reason: String| Err(Usage(format!("--method {spec}: {reason}")).into());
    if matches!(subject::find(spec, &Programs::default())?.subject, Subject::Program(_)) {
        return refuse("this command captures by itself; bench measures programs".into());
    }
    if spec.member_count().is_some() || spec.fanout().is_some() {
        return refuse("--members and --fanout are flags of this command".into());
    }
    if spec.own_work().is_some() {
        return refuse(format!("+{OWN_WORK} is for commands that measure"));
    }
    for known in PathSetting::ALL {
        if spec.has(known.name()) {
            return refuse(format!("+{} changes the link, which only bench does, on its own", known.name()));
        }
    }
    Ok(())
}

/// Headers and flows.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Traffic")]
pub struct LayoutFlags {
    /// Spread frames over this many flows [default: 1]
    #[arg(long, value_name = "N", value_parser = flows)]
    flows: Option<Flows>,
    /// Tag frames with this VLAN identifier
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(0..=4094))]
    vlan: Option<u16>,
    /// IPv6 instead of IPv4
    #[arg(long)]
    ipv6: bool,
    /// TCP instead of UDP
    #[arg(long)]
    tcp: bool,
    /// Destination Ethernet address [default: that of another host, so that the receiver's stack drops early]
    #[arg(long, value_name = "MAC")]
    pub dst_mac: Option<MacAddress>,
}

fn flows(text: &str) -> Result<Flows, String> {
    let number: u32 = text.parse().map_err(|_| format!("\"{text}\" is not a number of flows"))?;
    Flows::new(number).map_err(|error| error.to_string())
}

/// The CPUs that --cpu names, in the user's order; a thread each, and threads may share one.
pub fn cpus(text: &str) -> anyhow::Result<Vec<CpuId>> {
    let online = affinity::online_cpus()?;
    let refuse = |why: &str| {
        let list: Vec<_> = online.iter().map(ToString::to_string).collect();
        Usage(format!("--cpu {text}: {why}; this host has {}", list.join(",")))
    };
    // Part by part: a CPU list is a set.
    let parts: Option<Vec<_>> = text.split(',').map(affinity::parse_cpu_list).collect();
    let cpus = parts.ok_or_else(|| refuse("not a list of CPUs such as 2,3 or 4-7"))?.concat();
    match cpus.iter().find(|cpu| !online.contains(cpu)) {
        Some(missing) => Err(refuse(&format!("CPU {missing} does not exist or is offline")).into()),
        None => Ok(cpus),
    }
}

/// Reads a number of generator threads.
pub fn threads(text: &str) -> Result<NonZeroU16, String> {
    capbench_frames::transmit_spec::threads(text)
}

/// Reads the name of a transmit method.
pub fn transmit(text: &str) -> Result<TransmitSpec, String> {
    let spec: TransmitSpec = text.parse()?;
    capbench_traffic::transmit::method(&spec).map_err(|error| error.to_string())?;
    Ok(spec)
}

/// The transmit method with the number of threads that --threads asks for.
pub fn transmit_by(method: &TransmitSpec, threads: Option<NonZeroU16>) -> Result<Chosen, Usage> {
    let chosen = capbench_traffic::transmit::method(method).map_err(|error| Usage(error.to_string()))?;
    match threads {
        Some(threads) if ![NonZeroU16::MIN, threads].contains(&chosen.threads) => {
            Err(Usage(format!("--threads {threads}: --transmit {chosen} has another number")))
        }
        Some(threads) => Ok(chosen.with_threads(threads)),
        None => Ok(chosen),
    }
}

impl LayoutFlags {
    /// Whether any of the flags was given.
    pub fn is_given(&self) -> bool {
        self.flows.is_some_and(|flows| flows != Flows::ONE)
            || self.vlan.is_some()
            || self.ipv6
            || self.tcp
            || self.dst_mac.is_some()
    }

    /// The headers that the flags ask for, of one flow without --flows.
    pub fn layout(&self) -> FrameLayout {
        self.layout_of(Flows::ONE)
    }

    /// The same, of this many flows without --flows.
    pub fn layout_of(&self, flows: Flows) -> FrameLayout {
        let default = FrameLayout::default();
        FrameLayout {
            vlan: self.vlan.map(|tci| VlanTag { tci }),
            network: if self.ipv6 { Network::V6 } else { Network::V4 },
            transport: if self.tcp { Transport::Tcp } else { Transport::Udp },
            destination: self.dst_mac.unwrap_or(default.destination),
            flows: self.flows.unwrap_or(flows),
            ..default
        }
    }
}

/// From which change on a difference is worth saying.
#[derive(Args, Clone, Copy, Debug)]
pub struct ThresholdFlags {
    #[arg(long, value_name = "SHARE", value_parser = share, help = threshold_help())]
    threshold: Option<f64>,
    #[arg(long, value_name = "SHARE", value_parser = share, help = loss_threshold_help())]
    loss_threshold: Option<f64>,
}

fn threshold_help() -> String {
    format!(
        "Rates and times that change by less are no regression and no improvement, however certain it is [default: {}; with \
         --dataset {}]",
        share_text(Thresholds::default().relative),
        share_text(Thresholds::for_hosts().relative)
    )
}

fn loss_threshold_help() -> String {
    format!(
        "The same for loss: the difference of the shares lost. If most trials of the later run lose frames and none of the earlier \
         run does, any loss counts [default: {}]",
        share_text(Thresholds::default().loss)
    )
}

/// A share as a flag has it: `0.1%`.
fn share_text(share: f64) -> String {
    format!("{}%", shortest(100.0 * share, 6))
}

impl ThresholdFlags {
    /// The thresholds of a comparison: those that the user set, else these.
    pub fn thresholds_or(self, default: Thresholds) -> Thresholds {
        Thresholds {
            relative: self.threshold.unwrap_or(default.relative),
            loss: self.loss_threshold.unwrap_or(default.loss),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        ByteCount, FANOUT_OF_ONE, MembersFlags, NonZeroU16, ThresholdFlags, Thresholds, buffer_size,
        loss_threshold_help, share_text, threshold_help,
    };

    #[test]
    fn a_buffer_size_without_a_unit_is_in_kib() {
        let sizes = ["4096", "64MiB", "1K"].map(|text| buffer_size(text).unwrap());
        assert_eq!(sizes, [4096 << 10, 64 << 20, 1024].map(ByteCount));
        for text in ["", "0", "4k5", "-1"] {
            assert!(buffer_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn one_capture_has_no_fanout_and_several_have_one() {
        let group = |fanout: Option<&str>, members| {
            let fanout = fanout.map(|text| text.parse().unwrap());
            MembersFlags { fanout, members }.group(&"packet-v3".parse().unwrap())
        };
        assert_eq!(group(Some("lb"), None).unwrap_err().to_string(), FANOUT_OF_ONE);
        assert!(group(None, None).unwrap().is_none());
        assert!(group(None, NonZeroU16::new(2)).unwrap().is_some());
        assert!(group(Some("lb"), NonZeroU16::new(2)).unwrap().is_some());
    }

    #[test]
    fn the_help_of_thresholds_has_the_numbers_of_their_table() {
        assert!(threshold_help().ends_with("[default: 5%; with --dataset 0.5%]"), "{}", threshold_help());
        assert!(loss_threshold_help().ends_with("[default: 0.1%]"), "{}", loss_threshold_help());
        assert_eq!([0.001, 1e-6, 0.25].map(share_text), ["0.1%", "0.0001%", "25%"]);
    }

    #[test]
    fn a_threshold_that_the_user_does_not_set_is_that_of_the_table() {
        let unset = ThresholdFlags { threshold: None, loss_threshold: None };
        assert_eq!(unset.thresholds_or(Thresholds::for_hosts()), Thresholds::for_hosts());
        let set = ThresholdFlags { threshold: Some(0.2), loss_threshold: Some(0.3) };
        assert_eq!(set.thresholds_or(Thresholds::default()), Thresholds { relative: 0.2, loss: 0.3 });
    }
}
