//! From flags to what is recorded.

use std::path::PathBuf;

use anyhow::Result;
use capbench_capture::file::{FileFormat, HashAlgorithm};
use capbench_capture::filter::{FilterText, Optimise};
use capbench_capture::methods;
use capbench_capture::recording::{Plan, Source};
use capbench_capture::writing::{Rotation, WriteOptions};
use capbench_capture::{Delivery, Direction, Fanout, Interface, MethodSpec};
use capbench_measure::bed::Side;
use capbench_measure::programs::Programs;
use capbench_measure::subject::{self, PATH_SETTINGS, Subject};
use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::{online_cpus, parse_cpu_list};

use super::{auto, describe};
use crate::cli::record::{OutputFlags, RecordFlags};
use crate::exit::Usage;

/// The name of the loopback interface, where every packet that is sent arrives, too.
const LOOPBACK: &str = "lo";

/// What the flags ask for, with filters compiled on their interfaces.
pub fn of(flags: &RecordFlags) -> Result<Plan> {
    let method = method(&flags.method)?;
    flags.capture.check_heeded(std::slice::from_ref(&method), &Programs::default())?;
    let known = methods::find(&method)?;
    let text = filter_text(flags)?;
    let mut base = flags.capture.options();
    if flags.immediate_mode && !flags.capture.has_retire_timeout() {
        base.retire_timeout = std::time::Duration::from_millis(1);
    }
    let mut sources = Vec::with_capacity(flags.interface.len());
    for name in &flags.interface {
        let side = Side::existing(name)?;
        let interface = Interface { name: side.name().into(), index: side.index(), mtu: side.mtu() };
        let mut options = base.clone();
        options.direction = flags.capture.direction().unwrap_or_else(|| {
            let knows = known.options.contains(&"--direction");
            if knows && name != LOOPBACK { Direction::Both } else { Direction::In }
        });
        options.fanout = flags.fanout.map(Fanout::new);
        options.filter = match &text {
            Some(text) => Some(text.compile(&interface, options.snap_length, optimise(flags))?),
            None => None,
        };
        let description = describe::interface(&interface, side.mac(), options.filter.as_ref());
        sources.push(Source {
            interface,
            method: method.clone(),
            options,
            members: flags.members.unwrap_or(1),
            description,
        });
    }
    Ok(Plan {
        sources,
        format: flags.output.format,
        section: describe::section(),
        snap_length: base.snap_length,
        hash: HashAlgorithm::default(),
        write: write_options(&flags.output),
        packets: flags.count,
        packet_buffered: flags.output.packet_buffered || flags.immediate_mode,
        cpus: cpus(flags)?,
    })
}

/// How libpcap is to compile.
pub fn optimise(flags: &RecordFlags) -> Optimise {
    if flags.no_optimise { Optimise::No } else { Optimise::Yes }
}

/// The filter; `None` for every packet.
pub fn filter_text(flags: &RecordFlags) -> Result<Option<FilterText>> {
    let text = match &flags.filter_file {
        Some(file) => FilterText::of_file(file)?,
        None => FilterText::of_expression(&flags.filter.join(" "))?,
    };
    Ok((text != FilterText::Expression(String::new())).then_some(text))
}

/// The method, which has to give packets, on the interface as it is.
fn method(text: &str) -> Result<MethodSpec> {
    if text == "auto" {
        let (method, why) = auto::choose();
        eprintln!("capbench: method {method}: {why}");
        return Ok(method);
    }
    let refuse = |reason: String| Err(Usage(format!("--method {text}: {reason}")).into());
    let spec: MethodSpec = text.parse().map_err(Usage)?;
    if matches!(subject::find(&spec, &Programs::default())?.subject, Subject::Program(_)) {
        return refuse("record captures by itself; bench measures programs".into());
    }
    if let Some(setting) =
        spec.settings().iter().find(|given| PATH_SETTINGS.iter().any(|known| known.name == given.name))
    {
        return refuse(format!("+{} changes the link, which only bench does, on its own", setting.name));
    }
    if methods::find(&spec)?.delivery == Delivery::Counted {
        return refuse("it counts packets in the kernel, and gives none that could be recorded".into());
    }
    Ok(spec)
}

fn write_options(flags: &OutputFlags) -> WriteOptions {
    let default = WriteOptions::new(flags.file.clone().unwrap_or_default());
    WriteOptions {
        rotation: Rotation {
            bytes: flags.file_size,
            packets: flags.file_packets,
            seconds: flags.file_seconds,
            files: flags.files,
        },
        pool: flags.write_buffer.unwrap_or(default.pool),
        compression: flags.zstd,
        direct: flags.direct,
        ..default
    }
}

fn cpus(flags: &RecordFlags) -> Result<Vec<CpuId>> {
    let Some(text) = &flags.cpu else { return Ok(Vec::new()) };
    let online = online_cpus()?;
    // Part by part, since a list as a whole is a set: here threads take CPUs in the order given, and may share one.
    let parts: Option<Vec<_>> = text.split(',').map(parse_cpu_list).collect();
    let cpus = parts
        .ok_or_else(|| Usage(format!("--cpu {text}: not a list of CPUs; write for example 2,3 or 4-7")))?
        .concat();
    if let Some(missing) = cpus.iter().find(|cpu| !online.contains(cpu)) {
        return Err(Usage(format!("--cpu {text}: CPU {missing} does not exist or is offline")).into());
    }
    Ok(cpus)
}

/// Whether packets go to standard output.
pub fn is_standard_output(flags: &OutputFlags) -> bool {
    flags.file.as_ref().is_some_and(|file| file.as_os_str() == "-")
}

/// Where the account goes that a classic pcap file has no place for.
pub fn side_file(flags: &OutputFlags) -> Option<PathBuf> {
    let file = flags.file.as_ref().filter(|_| flags.format == FileFormat::Pcap)?;
    let mut name = (!is_standard_output(flags)).then(|| file.clone().into_os_string())?;
    name.push(".ledger.json");
    Some(name.into())
}

/// What is listened to, as the first line tells it.
pub fn in_words(plan: &Plan) -> String {
    let names: Vec<_> = plan.sources.iter().map(|source| source.interface.name.as_str()).collect();
    let method = plan.sources.first().map(|source| source.method.to_string()).unwrap_or_default();
    let members = match plan.sources.first().map_or(1, |source| source.members) {
        1 => String::new(),
        several => format!(" by {several} captures each"),
    };
    format!(
        "{}{members}, method {method}, link-type EN10MB (Ethernet), snapshot length {} bytes, {} to {}",
        names.join(", "),
        plan.snap_length.octets(),
        plan.format.name(),
        if plan.write.is_standard_output() {
            "standard output".into()
        } else {
            plan.write.path.display().to_string()
        }
    )
}
