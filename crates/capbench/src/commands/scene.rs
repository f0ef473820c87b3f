//! Parses the flags of a command that runs trials, without looking at the host.

use std::fmt::Display;
use std::time::Duration;

use anyhow::Result;
use capbench_frames::{Classifier, FramePlan, FrameSize, Mtu, Sizes, TrialId};
use capbench_host::bed::Placement;
use capbench_lab::live::Path;
use capbench_lab::programs::Programs;
use capbench_lab::subject;
use capbench_model::direction::Direction;
use capbench_model::laboratory::Setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::SizeLabel;
use capbench_report::formats::text::wrapped;
use capbench_sys::host::CpuId;

use crate::cli::scene::SceneFlags;
use crate::exit::Usage;

/// Methods, frame sizes and placements, and the path that they are measured on.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Methods, each once, in the order of the command line.
    pub methods: Vec<MethodSpec>,
    /// The methods as the user named them. A missing method of a set is no failure.
    named: Vec<String>,
    /// One set-up per frame size, without method and placement.
    pub sizes: Vec<Setup>,
    /// Placements.
    pub placements: Vec<PlacementChoice>,
    /// Where trials run.
    pub path: Path,
    /// Programs that can be methods.
    pub programs: Programs,
}

/// Defaults of a command.
#[derive(Clone, Copy, Debug)]
pub struct Defaults {
    /// Names of methods and sets of methods.
    pub methods: &'static [&'static str],
    /// Frame sizes in octets, FCS included.
    pub sizes: &'static [u32],
    /// Placements.
    pub placements: &'static [PlacementChoice],
    /// How long no frame may arrive before a trial with missing frames ends.
    pub quiet: Duration,
}

impl Scene {
    /// Parses the flags.
    ///
    /// # Errors
    /// They name what does not exist, or contradict each other.
    pub fn new(flags: &SceneFlags, defaults: Defaults) -> Result<Self> {
        let programs = Programs::with_file(flags.programs.as_deref())?;
        let named = match &flags.method[..] {
            [] => defaults.methods.iter().map(ToString::to_string).collect(),
            given => given.to_vec(),
        };
        let methods = methods(&named, &programs)?;
        flags.capture.check_used(&methods, &programs)?;
        let sizes = match &flags.size[..] {
            [] => defaults
                .sizes
                .iter()
                .map(|&octets| FrameSize::new(octets).map(Sizes::Fixed))
                .collect::<Result<_, _>>()?,
            given => given.to_vec(),
        };
        let sizes = setups(flags, sizes, defaults.quiet)?;
        let placements = placements(flags, defaults.placements)?;
        let labels: Vec<_> = sizes.iter().map(|setup| &setup.label).collect();
        once("--size", &labels)?;
        once("--placement", &placements)?;
        Ok(Self { sizes, placements, path: path(flags), methods, named, programs })
    }

    /// Whether the user named this method, not only a set that contains it.
    pub fn is_named(&self, method: &str) -> bool {
        self.named.iter().any(|named| named == method)
    }

    /// Every set-up: methods x frame sizes x placements.
    pub fn setups(&self) -> impl Iterator<Item = Setup> {
        self.placements.iter().flat_map(move |&placement| {
            self.sizes.iter().flat_map(move |size| {
                self.methods.iter().map(move |method| Setup {
                    method: method.clone(),
                    placement,
                    ..size.clone()
                })
            })
        })
    }

    /// How long trials wait for missing frames.
    pub fn quiet(&self) -> Duration {
        self.sizes.first().map_or(Duration::ZERO, |setup| setup.quiet)
    }

    /// Its description in a plan, one line per fact.
    pub fn describe(&self) -> String {
        let list = |names: Vec<String>| names.join(", ");
        let mut text = String::new();
        let methods = list(self.methods.iter().map(ToString::to_string).collect());
        wrapped(&mut text, "methods     ", "            ", &methods);
        let path = match &self.path {
            Path::Virtual { mtu, .. } => format!("a veth pair of its own, MTU {}", mtu.0),
            Path::Interfaces { transmit, receive, .. } => format!("{transmit} to {receive}"),
        };
        text.push_str(&format!(
            "frame sizes {}\nplacements  {}\n",
            list(self.sizes.iter().map(|setup| setup.label.to_string()).collect()),
            list(self.placements.iter().map(ToString::to_string).collect()),
        ));
        if let Some(first) = self.sizes.first() {
            text.push_str(&format!("work        {}\ntransmit    {}\n", first.work, first.transmit));
        }
        text.push_str(&format!("path        {path}\n"));
        text
    }
}

/// Rejects duplicates: a user who names a thing twice does not mean to measure it twice.
///
/// # Errors
/// The duplicate.
/// With the thing.
pub fn once<T: PartialEq + Display>(flag: &str, named: &[T]) -> Result<(), Usage> {
    match named.iter().enumerate().find(|(place, thing)| named[..*place].contains(thing)) {
        Some((_, twice)) => Err(Usage(format!("{flag}: {twice} is named twice; name it once"))),
        None => Ok(()),
    }
}

/// The methods of a list, each once, sets expanded.
fn methods(list: &[String], programs: &Programs) -> Result<Vec<MethodSpec>> {
    let mut methods: Vec<MethodSpec> = Vec::new();
    for name in list {
        let names = match name.as_str() {
            "default" => subject::default_methods(),
            "all" => subject::all_methods(programs),
            _ => vec![name.clone()],
        };
        for name in names {
            let spec: MethodSpec = name.parse().map_err(Usage)?;
            subject::find(&spec, programs)?;
            if !methods.contains(&spec) {
                methods.push(spec);
            }
        }
    }
    Ok(methods)
}

/// One set-up per size. Checks first that headers and stamp fit into the frame, the frame into the MTU, and the stamp into the
/// snap length.
fn setups(flags: &SceneFlags, sizes: Vec<Sizes>, quiet: Duration) -> Result<Vec<Setup>> {
    let layout = flags.layout.layout()?;
    let capture = flags.capture.options();
    if capture.direction == Direction::Out {
        return Err(
            Usage("--direction out: nothing is sent on the interface that is captured on".into()).into()
        );
    }
    let snap = capture.snap_length;
    Classifier::new(TrialId(0), &layout, snap.cuts().then(|| snap.octets()))?;
    // The MTU of real interfaces is read later.
    let mtu = if flags.tx.is_some() { Mtu(u32::from(u16::MAX)) } else { Mtu(flags.mtu) };
    sizes
        .into_iter()
        .map(|sizes| {
            FramePlan::new(layout, sizes.clone(), mtu)?;
            Ok(Setup {
                method: MethodSpec::plain(""),
                label: label(&sizes),
                sizes,
                layout,
                placement: PlacementChoice::Same,
                latency: None,
                work: flags.work,
                capture: capture.clone(),
                moderation: None,
                transmit: flags.transmit.clone(),
                burst: None,
                quiet: flags.quiet.unwrap_or(quiet),
            })
        })
        .collect()
}

fn label(sizes: &Sizes) -> SizeLabel {
    match sizes {
        Sizes::Fixed(size) => SizeLabel::Octets(size.octets()),
        mixed => SizeLabel::Named(mixed.to_string()),
    }
}

fn placements(flags: &SceneFlags, default: &[PlacementChoice]) -> Result<Vec<PlacementChoice>> {
    if let (Some(generator), Some(kernel), Some(application)) =
        (flags.gen_cpu, flags.kernel_cpu, flags.app_cpu)
    {
        let [generator, kernel, application] = [generator, kernel, application].map(CpuId::new);
        Placement::custom(generator, kernel, application)?;
        return Ok(vec![PlacementChoice::Custom { generator, kernel, application }]);
    }
    Ok(if flags.placement.is_empty() { default.to_vec() } else { flags.placement.clone() })
}

fn path(flags: &SceneFlags) -> Path {
    match (&flags.tx, &flags.rx) {
        (Some(transmit), Some(receive)) => Path::Interfaces {
            transmit: transmit.clone(),
            receive: receive.clone(),
            isolated: flags.isolated,
        },
        _ => Path::Virtual { mtu: Mtu(flags.mtu), receive_by: flags.receive_by },
    }
}
