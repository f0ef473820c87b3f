//! `libpcap`: packets from libpcap, from the system's build or any other, opened at run time.
//!
//! The user chooses the call that reads packets. pcap_next and pcap_next_ex return single packets, which libpcap copies out
//! of its ring. pcap_dispatch and pcap_loop call back for packets in the ring. Only [`Capture::for_each`] shows the latter
//! two at their real cost: a batch of theirs is a copy of one frame.

mod counting;
mod found;

use std::time::Duration;

use capbench_sys::host::interface::LinkLayer;
use capbench_sys::packet::{Frame, Readiness};
use capbench_sys::pcap::{LinkType, Pcap, PcapLibrary, Settings};
use capbench_sys::{SysError, pcap};
use counting::Counting;

use super::presence::Presence;
use super::socket_setup::probe;
use crate::filter::Expression;
use crate::{
    Argument, Batch, Capture, CaptureError, Context, Filter, Interface, Method, OwnedBatch, Packing, Result,
    SettingInfo, StatsSocket, Taker, VlanTags, Waiter, duration_of, ring_memory,
};
use capbench_model::counters::{Counters, WaitCounts};
use capbench_model::direction::Direction;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::running::Running;
use capbench_model::units::ByteCount;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "libpcap",
    summary: "libpcap, the system's or another build of it; says what captures underneath",
    options: &["--ring", "--retire-timeout", "--snaplen", "--no-promiscuous", "--spin", "--direction"],
    argument: Some(Argument {
        placeholder: "LIBRARY",
        summary: "path or name of a libpcap [libpcap.so.0.8, else libpcap.so.1]",
    }),
    settings: &[
        SettingInfo::flag("dispatch", "takes packets by pcap_dispatch, which calls back; the default"),
        SettingInfo::flag(
            "loop",
            "by pcap_loop, which calls back and blocks; a timer's signal brings it back",
        ),
        SettingInfo::flag("next-ex", "by pcap_next_ex, one by one, copied by libpcap"),
        SettingInfo::flag("next", "by pcap_next, one by one, copied by libpcap"),
        SettingInfo::flag("immediate", "immediate mode: no batches (on Linux TPACKET_V2 instead of V3)"),
        SettingInfo::valued("buffer", "BYTES", "pcap_set_buffer_size [--ring]"),
        SettingInfo::valued("timeout", "TIME", "pcap_set_timeout [--retire-timeout]"),
    ],
    variants: &["libpcap+next-ex"],
    socket_filter: true,
    captures_ip_packets: true,
    in_default: true,
    vlan_tags: VlanTags::InFrames,
    check: |spec, _, options| Plan::of(spec, options).map(drop),
    supported,
    ..Method::BASE
};

/// Maximum number of packets per read, so that the calling loop regularly checks its clock and its commands.
const AT_ONCE: u16 = 256;

/// The same for copied packets: before the read there is memory for this many of the largest packets.
const PACKED_AT_ONCE: u16 = 32;

/// How packets are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Next,
    NextEx,
    Dispatch,
    Loop,
}

impl Call {
    const ALL: [(&'static str, Self, &'static str); 4] = [
        ("dispatch", Self::Dispatch, "pcap_dispatch"),
        ("loop", Self::Loop, "pcap_loop"),
        ("next-ex", Self::NextEx, "pcap_next_ex"),
        ("next", Self::Next, "pcap_next"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, call, _)| *call == self).map_or("", |(_, _, name)| name)
    }
}

/// The parsed settings and options.
#[derive(Clone, Copy, Debug)]
struct Plan {
    call: Call,
    buffer: ByteCount,
    settings: Settings,
}

impl Plan {
    fn of(spec: &MethodSpec, options: &CaptureOptions) -> Result<Self> {
        let refuse = |reason: String| CaptureError::Spec { method: spec.to_string(), reason };
        let mut calls = Call::ALL.iter().filter(|(name, ..)| spec.has(name)).map(|(_, call, _)| *call);
        let call = calls.next().unwrap_or(Call::Dispatch);
        if calls.next().is_some() {
            return Err(refuse("give one of +dispatch, +loop, +next-ex and +next".into()));
        }
        let buffer = spec.value("buffer").map(str::parse::<ByteCount>).transpose();
        let buffer = match buffer.map_err(|reason| refuse(format!("+buffer: {reason}")))? {
            Some(bytes) => ring_memory::checked_ring(&CaptureOptions { ring: bytes, ..options.clone() })?,
            None => ring_memory::checked_ring(options)?,
        };
        let too_large = || CaptureError::Option {
            option: "--ring or +buffer",
            reason: format!("{buffer} is more than libpcap can be asked for, 2047MiB"),
        };
        let bytes = u32::try_from(buffer.0).ok().filter(|&bytes| bytes <= i32::MAX as u32);
        Ok(Self {
            call,
            buffer,
            settings: Settings {
                snap_length: options.snap_length.octets(),
                promiscuous: options.promiscuous,
                timeout_ms: timeout(spec, options)?,
                buffer: bytes.ok_or_else(too_large)?,
                immediate: spec.has("immediate"),
                direction: match options.direction {
                    Direction::In => pcap::Direction::In,
                    Direction::Out => pcap::Direction::Out,
                    Direction::Both => pcap::Direction::Both,
                },
            },
        })
    }
}

/// libpcap's packet buffer timeout in milliseconds.
fn timeout(spec: &MethodSpec, options: &CaptureOptions) -> Result<u32> {
    let refuse = |reason: &str| {
        Err(CaptureError::Option { option: "--retire-timeout or +timeout", reason: reason.into() })
    };
    let timeout = duration_of(spec, "timeout")?;
    let options =
        CaptureOptions { retire_timeout: timeout.unwrap_or(options.retire_timeout), ..options.clone() };
    match ring_memory::retire_milliseconds(&options) {
        Ok(0) => refuse("0 means for ever to libpcap; give at least 1ms"),
        Ok(milliseconds) => Ok(milliseconds),
        Err(_) if timeout.is_some() => refuse("whole milliseconds up to 65535 are possible"),
        Err(error) => Err(error),
    }
}

/// The library that `spec` names.
fn library(spec: &MethodSpec) -> std::result::Result<PcapLibrary, SysError> {
    if let Some(name) = spec.argument() {
        return PcapLibrary::open(name);
    }
    PcapLibrary::of_system()
}

fn supported(spec: &MethodSpec) -> std::result::Result<(), String> {
    library(spec).map_err(|error| error.to_string())?;
    probe(None)
}

/// A capture by libpcap.
#[derive(Debug)]
pub struct Libpcap {
    pcap: Pcap,
    call: Call,
    counting: Counting,
    waiter: Waiter,
    /// The interface, if libpcap gets no wake-up when it goes.
    presence: Option<Presence>,
    packing: Packing,
    context: Context,
    running: Running,
}

impl Libpcap {
    /// Opens it in the calling thread's namespace.
    ///
    /// # Errors
    /// An unusable library, missing privilege, no such interface, or an invalid option.
    pub fn open(spec: &MethodSpec, interface: &Interface, options: &CaptureOptions) -> Result<Self> {
        let context = Context::new(METHOD.name, interface);
        let plan = Plan::of(spec, options)?;
        let library =
            library(spec).map_err(|source| CaptureError::Library { method: spec.to_string(), source })?;
        let fail = |source| context.fail(source);
        let mut pcap = Pcap::open(library, &interface.name, &plan.settings).map_err(fail)?;
        check_link_type(&pcap, interface, &context)?;
        if plan.call == Call::Loop {
            pcap.prepare_loop().map_err(fail)?;
        }
        if let Some(filter) = &options.filter {
            set_filter(&mut pcap, filter, &interface.name, &context)?;
        }
        let counting = Counting::new(&pcap, interface, options);
        let running = found::running(&pcap, &plan, options);
        let waiter = Waiter::new(options.spin);
        let is_pf_ring = matches!(pcap.engine(), pcap::Engine::PfRing { .. });
        let presence = is_pf_ring.then(|| Presence::of(interface));
        let packing =
            Packing::new(options, usize::from(PACKED_AT_ONCE), options.snap_length.octets() as usize);
        Ok(Self { pcap, call: plan.call, counting, waiter, presence, packing, context, running })
    }

    /// Reads by `take`, spins, waits and reads again. Returns the result of `take`.
    #[inline]
    fn await_some(
        &mut self,
        timeout: Duration,
        mut take: impl FnMut(&mut Pcap) -> capbench_sys::Result<bool>,
    ) -> Result<bool> {
        let Self { pcap, waiter, presence, context, .. } = self;
        let mut outcome = take(pcap);
        if matches!(outcome, Ok(false)) {
            waiter.spin(|| {
                outcome = take(pcap);
                !matches!(outcome, Ok(false))
            });
        }
        if matches!(outcome, Ok(false)) {
            waiter.counts.waits += 1;
            outcome = match pcap.wait(timeout) {
                Ok(Readiness::Ready) => take(pcap),
                Ok(Readiness::Nothing) => presence.as_mut().map_or(Ok(()), Presence::check).map(|()| false),
                Err(error) => Err(error),
            };
            waiter.counts.empty += u64::from(matches!(outcome, Ok(false)));
        }
        outcome.map_err(|error| context.fail(error))
    }

    /// Passes up to `most` packets to `taker`, with the user's call. Uses pcap_dispatch in place of pcap_loop.
    #[inline]
    fn take_some(&mut self, timeout: Duration, most: u16, taker: &mut impl Taker) -> Result<bool> {
        let call = self.call;
        let mut each = |frame: &Frame<'_>| taker.take(frame);
        self.await_some(timeout, |pcap| match call {
            Call::Next => one_by_one(pcap, most, Pcap::read_next, &mut each),
            Call::NextEx => one_by_one(pcap, most, Pcap::read_next_ex, &mut each),
            Call::Dispatch | Call::Loop => pcap.dispatch(most, &mut each).map(|frames| frames > 0),
        })
    }
}

/// Checks that libpcap returns a link's packets as packet sockets do: to some links without Ethernet it adds a header of its own.
fn check_link_type(pcap: &Pcap, interface: &Interface, context: &Context) -> Result<()> {
    if interface.layer == LinkLayer::Ethernet {
        return Ok(());
    }
    match pcap.link_type().map_err(|source| context.fail(source))? {
        LinkType::RAW => Ok(()),
        LinkType(number) => Err(CaptureError::unsupported(
            &METHOD.name,
            &interface.name,
            format!(
                "libpcap returns this interface's packets with link type {number} instead of raw IP ({}); recv, recvmmsg and packet-v1 to \
                 packet-v3 return raw IP",
                LinkType::RAW.0
            ),
        )),
    }
}

/// Sets libpcap's filter. An expression is compiled again, by this library and for the engine of this handle.
fn set_filter(pcap: &mut Pcap, filter: &Filter, interface: &str, context: &Context) -> Result<()> {
    let fail = |source| context.fail(source);
    let Some(Expression { text, optimised }) = filter.expression() else {
        return pcap.set_filter(filter.program()).map_err(fail);
    };
    let netmask = pcap.library().netmask(interface);
    let program = pcap.compile(text, *optimised, netmask).map_err(fail)?;
    let refuse = |reason| CaptureError::Filter { expression: text.clone(), reason, place: None };
    pcap.set_filter(&program.map_err(refuse)?).map_err(fail)
}

/// Reads up to `most` single packets. Returns whether there were any.
#[inline]
fn one_by_one(
    pcap: &mut Pcap,
    most: u16,
    read: impl Fn(&mut Pcap) -> capbench_sys::Result<bool>,
    each: &mut impl FnMut(&Frame<'_>),
) -> capbench_sys::Result<bool> {
    for number in 0..most {
        if !read(pcap)? {
            return Ok(number > 0);
        }
        if let Some(frame) = pcap.current() {
            each(&frame);
        }
    }
    Ok(true)
}

impl Capture for Libpcap {
    type Batch<'a> = Single<'a>;

    #[inline]
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Single<'_>>> {
        let read = match self.call {
            Call::Next => Pcap::read_next,
            Call::NextEx => Pcap::read_next_ex,
            Call::Dispatch | Call::Loop => Pcap::copy_one,
        };
        let is_there = self.await_some(timeout, read)?;
        Ok(is_there.then_some(Single(&self.pcap)))
    }

    #[inline]
    fn take_with(&mut self, timeout: Duration, taker: &mut impl Taker) -> Result<bool> {
        if self.call != Call::Loop {
            return self.take_some(timeout, AT_ONCE, taker);
        }
        // libpcap does not report how often it waits inside.
        self.waiter.counts.waits += 1;
        let frames = self.pcap.run_loop(timeout, |frame| taker.take(frame));
        let frames = frames.map_err(|error| self.context.fail(error))?;
        self.waiter.counts.empty += u64::from(frames == 0);
        if frames == 0
            && let Some(Err(error)) = self.presence.as_mut().map(Presence::check)
        {
            return Err(self.context.fail(error));
        }
        Ok(frames > 0)
    }

    /// Never uses pcap_loop, which delivers an unlimited number of packets.
    fn next_owned(&mut self, timeout: Duration) -> Result<Option<OwnedBatch>> {
        Packing::next(self, timeout, |capture, timeout, taker| {
            capture.take_some(timeout, PACKED_AT_ONCE, taker)
        })
    }

    fn packing(&mut self) -> Option<&mut Packing> {
        Some(&mut self.packing)
    }

    fn counters(&mut self) -> Result<Counters> {
        let statistics = self.pcap.statistics().map_err(|error| self.context.fail(error))?;
        Ok(self.counting.counters(statistics))
    }

    /// Closing uses the socket's filter: libpcap does not know of it, and returns the packets in its ring.
    fn stats_socket(&self) -> Result<Option<StatsSocket>> {
        let socket = self.pcap.packet_socket().map_err(|error| self.context.fail(error))?;
        Ok(socket.map(|socket| StatsSocket::without_counters(socket, &self.context)))
    }

    fn waits(&self) -> WaitCounts {
        self.waiter.counts
    }

    fn running(&self) -> &Running {
        &self.running
    }
}

/// The packet that was read last.
#[derive(Debug)]
pub struct Single<'a>(&'a Pcap);

impl Batch for Single<'_> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.0.current().into_iter()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Call, Plan};
    use capbench_model::options::CaptureOptions;
    use capbench_model::units::ByteCount;

    fn plan(spec: &str, options: &CaptureOptions) -> Result<Plan, String> {
        Plan::of(&spec.parse().unwrap(), options).map_err(|error| error.to_string())
    }

    #[test]
    fn settings_select_one_call_and_go_before_options() {
        let options = CaptureOptions::default();
        let default = plan("libpcap", &options).unwrap();
        assert_eq!(
            (default.call, default.settings.buffer, default.settings.timeout_ms),
            (Call::Dispatch, 64 << 20, 10)
        );
        for (name, call, _) in Call::ALL {
            assert_eq!(plan(&format!("libpcap+{name}"), &options).unwrap().call, call);
        }
        let set = plan("libpcap:/x/libpcap.so+buffer=1MiB+timeout=2ms+immediate", &options).unwrap().settings;
        assert_eq!((set.buffer, set.timeout_ms, set.immediate), (1 << 20, 2, true));
        assert!(plan("libpcap+next+loop", &options).unwrap_err().contains("one of"));
    }

    #[test]
    fn requests_that_libpcap_does_not_support_are_refused() {
        let options = CaptureOptions::default();
        assert!(plan("libpcap+buffer=lots", &options).unwrap_err().contains("+buffer"));
        assert!(plan("libpcap+timeout=1500us", &options).unwrap_err().contains("whole milliseconds"));
        let zero = CaptureOptions { retire_timeout: Duration::ZERO, ..options.clone() };
        assert!(plan("libpcap", &zero).unwrap_err().contains("for ever"));
        assert!(plan("libpcap+timeout=1ms", &zero).is_ok());
        let large = CaptureOptions { ring: ByteCount(2 << 30), ..options };
        let text = plan("libpcap", &large).unwrap_err();
        assert!(text.contains("2047MiB") || text.contains("larger than the memory"), "{text}");
    }
}
