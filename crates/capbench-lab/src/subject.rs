//! The subject of a trial: a capture method or another program, and the settings of its path.

use std::str::FromStr;

use capbench_capture::method::{Argument, SettingInfo};
use capbench_capture::{CaptureError, CapturePoint, METHODS, Method, VlanTags};
use capbench_model::members::Members;
use capbench_model::method_spec::{MethodSpec, OWN_WORK};

use crate::Result;
use crate::programs::{self, Program, Programs};
use capbench_model::work::{Work, WorkPlan};

/// The subject under test.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A capture method of capbench.
    Capture {
        /// The specification as the user wrote it.
        spec: MethodSpec,
        /// Its row in the table of methods.
        method: &'static Method,
        /// The threads that share its frames; `None`: one thread.
        members: Option<Members>,
    },
    /// A program that captures by itself.
    Program(Box<Program>),
}

/// How the kernel's receive work on a virtual link reaches the CPU that the placement chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReceiveBy {
    /// Receive packet steering: the softirq of that CPU. The generator keeps its rate independent of the receiver.
    Rps,
    /// A NAPI thread pinned to that CPU. The scheduler shares the CPU between the thread and other work.
    NapiThread,
    /// The same, woken by a timer: interrupts stay off while packets keep arriving.
    NapiDeferred,
    /// For methods that read frames in the driver, which no steering reaches. Like [`Self::NapiThread`] if the work belongs on
    /// another CPU than the generator's, else in the sender's context.
    Driver,
}

impl FromStr for ReceiveBy {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text {
            "rps" => Ok(Self::Rps),
            "napi" => Ok(Self::NapiThread),
            _ => Err(format!("\"{text}\" is no way to receive; rps and napi are")),
        }
    }
}

/// A way to receive on the bed's link that a user can append to any method's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathSetting {
    /// A NAPI thread polls the link.
    NapiThread,
    /// The same by timer, with interrupts held off.
    NapiDefer,
}

impl PathSetting {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::NapiThread, Self::NapiDefer];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::NapiThread => "napi-thread",
            Self::NapiDefer => "napi-defer",
        }
    }

    fn receive_by(self) -> ReceiveBy {
        match self {
            Self::NapiThread => ReceiveBy::NapiThread,
            Self::NapiDefer => ReceiveBy::NapiDeferred,
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.name() == name)
    }
}

/// Methods on a special path that `all` adds: compares interrupt-driven and polled reception.
const PATH_VARIANTS: [&str; 2] = ["packet-v3+napi-thread", "packet-v3+napi-defer"];

/// A subject, and how its link receives if not in the path's usual way.
#[derive(Clone, Debug)]
pub struct Named {
    /// The subject under test.
    pub subject: Subject,
    /// How the link receives; `None`: the path's usual way.
    pub receive_by: Option<ReceiveBy>,
}

/// The subject that a method's text names.
///
/// # Errors
/// An unknown name, argument or setting.
pub fn find(spec: &MethodSpec, programs: &Programs) -> Result<Named> {
    let mut spec = spec.clone();
    let taken = spec
        .split_settings(|setting| setting.value.is_none() && PathSetting::of_name(&setting.name).is_some());
    let asked =
        taken.last().and_then(|setting| PathSetting::of_name(&setting.name)).map(PathSetting::receive_by);
    let refuse = |reason: String| CaptureError::Spec { method: spec.to_string(), reason };
    if spec.name() == programs::METHOD {
        if spec.own_work().is_some() {
            return Err(refuse(format!("+{OWN_WORK}: a program has its own work")).into());
        }
        let program = Box::new(programs.find(&spec)?.clone());
        return Ok(Named { subject: Subject::Program(program), receive_by: asked });
    }
    let members = Members::of_method(&spec);
    let members = members.map_err(refuse)?;
    let method = capbench_capture::methods::find(&spec)?;
    let of_point = match (method.capture_point)(&spec) {
        CapturePoint::Stack => None,
        CapturePoint::Driver => Some(ReceiveBy::Driver),
    };
    Ok(Named { subject: Subject::Capture { spec, method, members }, receive_by: asked.or(of_point) })
}

/// The properties of a method of any kind.
#[derive(Debug)]
pub struct Listed {
    /// The name that selects it.
    pub name: String,
    /// How it works, in one line.
    pub summary: String,
    /// The privilege that it needs, as in capabilities(7).
    pub privilege: &'static str,
    /// The command line's options that it uses.
    pub options: Vec<&'static str>,
    /// The argument that may follow a colon after its name.
    pub argument: Option<Argument>,
    /// The settings that may follow a plus sign after its name.
    pub settings: &'static [SettingInfo],
    /// Whether several threads can share its frames: then it has the settings of [`MembersSetting`](capbench_model::members::MembersSetting), too.
    pub can_have_members: bool,
    /// Variants that a table of all methods lists.
    pub variants: &'static [&'static str],
    /// Whether the main job runs it if the user names no method.
    pub in_default: bool,
    /// What nobody has tested yet.
    pub untested: Option<String>,
    /// Where the method provides VLAN tags; `None` for programs.
    pub vlan_tags: Option<VlanTags>,
    /// Whether it can run in the calling thread's namespace, or why not.
    pub here: std::result::Result<(), String>,
}

impl Listed {
    fn of_program(program: &Program) -> Self {
        Self {
            name: format!("{}:{}", programs::METHOD, program.name),
            summary: match &program.remark {
                Some(remark) => format!("{}; {remark}", program.summary),
                None => program.summary.clone(),
            },
            privilege: if program.only_root.is_some() { "root" } else { "CAP_NET_RAW" },
            options: program.options(),
            argument: None,
            settings: &[],
            can_have_members: false,
            variants: &[],
            in_default: false,
            untested: program.untested.clone(),
            vlan_tags: None,
            here: program.supported(),
        }
    }
}

/// All methods with their properties, in the order of tables.
pub fn list(programs: &Programs) -> Vec<Listed> {
    let own = METHODS.iter().map(|method| Listed {
        name: method.name.into(),
        summary: method.summary.into(),
        privilege: method.privilege,
        options: method.options.to_vec(),
        argument: method.argument,
        settings: method.settings,
        can_have_members: method.fanout.is_some(),
        variants: method.variants,
        in_default: method.in_default,
        untested: method.untested.map(String::from),
        vlan_tags: Some(method.vlan_tags),
        here: (method.supported)(&MethodSpec::plain(method.name)),
    });
    own.chain(programs.rows().iter().map(Listed::of_program)).collect()
}

/// The methods of `--method default`: those from which a user would choose.
pub fn default_methods() -> Vec<String> {
    METHODS.iter().filter(|method| method.in_default).map(|method| method.name.to_string()).collect()
}

/// The methods of `--method quick`: one of each kind, the newest ring that packet sockets have and the one before.
pub fn quick_methods() -> Vec<String> {
    ["recv", "packet-v2", "packet-v3", "libpcap", "af-xdp"].map(String::from).to_vec()
}

/// The methods of `--method all`: every method, variants that differ in kind, and other programs.
pub fn all_methods(programs: &Programs) -> Vec<String> {
    let own =
        METHODS.iter().flat_map(|method| std::iter::once(method.name).chain(method.variants.iter().copied()));
    own.chain(PATH_VARIANTS)
        .map(String::from)
        .chain(programs.rows().iter().map(|program| format!("{}:{}", programs::METHOD, program.name)))
        .collect()
}

impl Subject {
    /// Whether it reads frames in the driver's poll, before the stack.
    pub fn takes_in_driver(&self) -> bool {
        match self {
            Self::Capture { spec, method, .. } => (method.capture_point)(spec) == CapturePoint::Driver,
            Self::Program(_) => false,
        }
    }

    /// The threads that share its frames; `None`: it has one, or threads of its own.
    pub fn members(&self) -> Option<Members> {
        match self {
            Self::Capture { members, .. } => *members,
            Self::Program(_) => None,
        }
    }

    /// Its work per packet: the trial's work, or the program's own.
    pub fn work(&self, given: WorkPlan) -> Work {
        match self {
            Self::Capture { .. } => Work::Plan(given),
            Self::Program(_) => Work::OfProgram,
        }
    }

    /// The command line's options that it uses.
    pub fn options(&self) -> Vec<&'static str> {
        match self {
            Self::Capture { method, .. } => method.options.to_vec(),
            Self::Program(program) => program.options(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ReceiveBy, Subject, all_methods, default_methods, find};
    use crate::programs::Programs;

    #[test]
    fn settings_of_the_path_are_none_of_the_method() {
        let programs = Programs::default();
        let named = find(&"packet-v3+napi-defer+spin".parse().unwrap(), &programs).unwrap();
        assert_eq!(named.receive_by, Some(ReceiveBy::NapiDeferred));
        let Subject::Capture { spec, method, .. } = named.subject else { panic!("a capture method") };
        assert!(spec.has("spin") && !spec.has("napi-defer") && method.name == "packet-v3");
        assert_eq!(find(&"recv".parse().unwrap(), &programs).unwrap().receive_by, None);
        assert!(find(&"recv+napi-thread=1".parse().unwrap(), &programs).is_err());
    }

    #[test]
    fn a_program_has_its_own_work_already() {
        let found = |text: &str| find(&text.parse().unwrap(), &Programs::default());
        assert!(found("packet-v3+work=ns:500").is_ok() && found("cmd:tcpdump").is_ok());
        assert!(found("cmd:tcpdump+work=ns:500").is_err());
    }

    #[test]
    fn sets_of_methods_hold_known_ones_each_once() {
        let programs = Programs::default();
        let all = all_methods(&programs);
        for name in default_methods().iter().chain(&all) {
            find(&name.parse().unwrap(), &programs).unwrap_or_else(|error| panic!("{name}: {error}"));
            assert_eq!(all.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
    }
}
