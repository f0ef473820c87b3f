//! What `count` does: made once from its flags, before anything is opened.

use std::time::Duration;

use anyhow::{Result, ensure};
use capbench_capture::filter::FilterText;
use capbench_capture::{Interface, methods};
use capbench_frames::{Classifier, TrialId};
use capbench_host::bed::Side;
use capbench_lab::counting::{Counting, Filters, Source};
use capbench_lab::mark::mark;
use capbench_lab::programs::Programs;
use capbench_model::method_spec::{Delivery, MethodSpec};
use capbench_model::options::CaptureOptions;
use capbench_model::units::SnapLength;
use capbench_sys::host::{CpuId, LinkLayer};
use clap::Args;

use crate::exit::{Unsupported, Usage};
use crate::flag_values::positive_duration;
use crate::flags::{CaptureFlags, FULL_BLOCKS, FilterFlags, LayoutFlags, MembersFlags, cpus, own_method};
use crate::metrics::{MetricsFlags, MetricsOutput};
use crate::recording::interface;

#[derive(Args, Clone, Debug)]
pub struct CountFlags {
    /// Interface to count on
    #[arg(short = 'i', long, value_name = "IF")]
    interface: String,
    /// Capture method
    #[arg(long, value_name = "METHOD", default_value = "packet-v3")]
    method: String,
    /// Stop after this many packets
    #[arg(short = 'c', long, value_name = "PACKETS", value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Stop after this time [default: when interrupted]
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    duration: Option<Duration>,
    /// Count what passes this filter, too: packets, bytes and rates; may be given again
    #[arg(long, value_name = "FILTER")]
    each: Vec<String>,
    /// Verify frames that `capbench send` made with this --trial: delivered once, lost, duplicate, reordered, damaged
    #[arg(long, value_name = "TRIAL", conflicts_with_all = ["filter", "filter_file"])]
    verify: Option<u16>,
    /// How many frames were sent with --trial, so that those lost at the end are known
    #[arg(long, value_name = "FRAMES", requires = "verify")]
    frames: Option<u64>,
    /// CPUs to count on: one for each capture, for example 2 or 4-7
    #[arg(long, value_name = "LIST")]
    cpu: Option<String>,
    /// One JSON object a line instead of text
    #[arg(long, visible_alias = "ndjson")]
    json: bool,
    #[command(flatten)]
    members: MembersFlags,
    #[command(flatten)]
    filter: FilterFlags,
    /// Headers of the frames to verify
    #[command(flatten)]
    layout: LayoutFlags,
    #[command(flatten)]
    capture: CaptureFlags,
    #[command(flatten)]
    metrics: MetricsFlags,
}

/// What is counted, how, and until when.
pub struct CountPlan {
    pub method: MethodSpec,
    pub interface: Interface,
    /// The options of each capture.
    pub options: CaptureOptions,
    /// Which packets, and on which CPUs.
    pub counting: Counting,
    /// The count ends after this time.
    pub duration: Option<Duration>,
    /// Frames that were sent, if the user knows.
    pub sent: Option<u64>,
    /// Whether JSON is printed instead of text.
    pub json: bool,
    pub metrics: MetricsOutput,
}

impl CountPlan {
    /// Makes the plan, with filters compiled for the interface.
    ///
    /// # Errors
    /// Flags that contradict each other, the method or the interface; an interface that cannot be used.
    pub fn new(flags: CountFlags) -> Result<Self> {
        let method = own_method(&flags.method)?;
        flags.capture.check_used(std::slice::from_ref(&method), &Programs::default())?;
        let row = methods::find(&method)?;
        let mut options = CaptureOptions {
            flow_hashes: false,
            fanout: flags.members.group(&method)?,
            mark: flags.verify.map(|trial| mark(TrialId(trial), &flags.layout.layout())),
            ..flags.capture.options()
        };
        let classifier = flags.classifier(options.snap_length)?;
        let side = Side::existing(&flags.interface)?;
        let cpus = flags.cpus()?;
        let interface = interface(&side)?;
        if flags.verify.is_some() && interface.layer == LinkLayer::Ip {
            let why = "has IP packets without an Ethernet header, and the frames of `send` that --verify expects have one";
            return Err(Unsupported(format!("--verify: {} {why}", interface.name)).into());
        }
        let filters = flags.filters(&method, &interface, &mut options)?;
        if classifier.is_none() && filters.need_no_octets() && row.options.contains(&"--snaplen") {
            let packed = flags.capture.options_of_packed_ring(row, Some(FULL_BLOCKS));
            options.ring = packed.ring;
            options.retire_timeout = packed.retire_timeout;
            // Nothing reads more. It is the least for which libpcap puts a tag back.
            options.snap_length = options.snap_length.min(SnapLength::ETHERNET_HEADER);
        }
        Ok(Self {
            method,
            interface,
            options,
            counting: Counting { filters, classifier, limit: flags.count, cpus },
            duration: flags.duration,
            sent: flags.frames,
            json: flags.json,
            metrics: flags.metrics.into(),
        })
    }

    /// Where and how it captures.
    pub fn source(&self) -> Source<'_> {
        Source { method: &self.method, interface: &self.interface, options: &self.options }
    }

    /// Whether the user states when the count ends.
    pub fn has_end(&self) -> bool {
        self.counting.limit.is_some() || self.duration.is_some()
    }
}

impl CountFlags {
    /// The CPUs of the threads that count.
    fn cpus(&self) -> Result<Vec<CpuId>> {
        let Some(list) = &self.cpu else { return Ok(Vec::new()) };
        let cpus = cpus(list)?;
        let threads = self.members.count();
        let why = format!("{} CPUs for {threads} that count; --members N has more captures", cpus.len());
        ensure!(cpus.len() <= threads, Usage(format!("--cpu {list}: {why}")));
        Ok(cpus)
    }

    /// What verifies the frames of `--verify`.
    fn classifier(&self, snap: SnapLength) -> Result<Option<Classifier>> {
        let Some(trial) = self.verify else {
            let why = "flags about headers say what --verify expects; give --verify, too";
            return if self.layout.is_given() { Err(Usage(why.into()).into()) } else { Ok(None) };
        };
        let why = "one capture alone sees which frames came twice or late; leave out --members, or measure with bench --members, \
                       which verifies frames, too";
        ensure!(self.members.count() == 1, Usage(format!("--verify: {why}")));
        let layout = self.layout.layout();
        Ok(Some(Classifier::new(TrialId(trial), &layout, snap.cuts().then(|| snap.octets()))?))
    }

    /// Compiles the filters. The one of all packets becomes the socket's filter where the method has one.
    ///
    /// # Errors
    /// A wrong filter; a method that returns no frames; a snap length that cuts octets off that a filter may read.
    fn filters(
        &self,
        method: &MethodSpec,
        interface: &Interface,
        options: &mut CaptureOptions,
    ) -> Result<Filters> {
        let text = self.filter.text()?;
        if text.is_none() && self.each.is_empty() {
            return Ok(Filters::default());
        }
        if method.delivery() == Some(Delivery::Counted) {
            let why = "counts in the kernel and returns no packets that a filter could look at";
            return Err(Usage(format!("--method {method}: it {why}; leave out FILTER and --each")).into());
        }
        if !self.each.is_empty() && options.snap_length.cuts() {
            return Err(Usage("--each: a filter may read any octet; leave out --snaplen".into()).into());
        }
        let optimise = self.filter.optimise();
        let filter = match text {
            Some(text) => Some(text.compile(interface, options.snap_length, optimise)?),
            None => None,
        };
        let mut each = Vec::new();
        for text in &self.each {
            let parsed = FilterText::of_expression(text)?;
            each.push((text.clone(), parsed.compile(interface, SnapLength::EVERYTHING, optimise)?));
        }
        if filter.is_none() || methods::find(method)?.socket_filter {
            options.filter = filter;
            return Ok(Filters { all: None, each });
        }
        options.snap_length = SnapLength::EVERYTHING;
        Ok(Filters { all: filter, each })
    }
}
