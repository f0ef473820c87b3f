//! How a user names a method: `NAME[:ARGUMENT][+SETTING[=VALUE]]...`.
//!
//! Each name is one way to capture. Settings after it select variants, so that variants of a method are rows of one table:
//! `libpcap:/opt/pf_ring/lib/libpcap.so.1+next`, `af-xdp+generic`, `recv+busy-poll=50us`.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::num::NonZeroU16;
use std::str::FromStr;

use capbench_sys::packet::FanoutMode;
use capbench_sys::packet::fanout::MOST_MEMBERS;
use serde::{Deserialize, Serialize};

use crate::error::ParseError;
use crate::work::WorkModel;

/// A method with its argument and settings. Two are equal if these are: the order of `members`, `fanout` and `work` does not matter.
#[derive(Clone, Debug, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct MethodSpec {
    /// As the user wrote it.
    text: String,
    name: String,
    argument: Option<String>,
    /// Without `members`, `fanout` and `work`.
    settings: Vec<Setting>,
    members: Option<NonZeroU16>,
    fanout: Option<FanoutMode>,
    own_work: Option<WorkModel>,
}

/// Most settings of one method: bounds the memory that a text of others takes.
const MOST_SETTINGS: usize = 16;

/// The setting with the number of members.
pub(crate) const MEMBERS: &str = "members";
/// The setting that chooses the member for a frame.
pub(crate) const FANOUT: &str = "fanout";
/// The setting with the work per packet of this method alone, in commands that measure.
pub const OWN_WORK: &str = "work";

/// One setting after a method's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// The value after `=`.
    pub value: Option<String>,
}

/// How frames reach the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// System calls copy them out of a socket's queue.
    Copied,
    /// Frames are in memory that the kernel or the card shares with the application.
    Ring,
    /// Not at all: the kernel counts frames.
    Counted,
}

/// The name of the method that is a program: `cmd:tcpdump`.
pub const PROGRAM: &str = "cmd";

/// The privilege that a method needs, least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Privilege {
    /// Raw sockets.
    RawSockets,
    /// Raw sockets, BPF programs, and the settings of interfaces.
    Bpf,
    /// The device, or root.
    Device,
}

impl MethodSpec {
    /// A method by its bare name.
    pub fn plain(name: &str) -> Self {
        Self {
            text: name.into(),
            name: name.into(),
            argument: None,
            settings: Vec::new(),
            members: None,
            fanout: None,
            own_work: None,
        }
    }

    /// The method's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a program of the user or of the host, which captures by itself.
    pub fn is_program(&self) -> bool {
        self.name() == PROGRAM
    }

    /// How frames reach the application; `None` for programs and for names that are no method.
    pub fn delivery(&self) -> Option<Delivery> {
        match self.name() {
            "recv" | "recvmmsg" => Some(Delivery::Copied),
            "packet-v1" | "packet-v2" | "packet-v3" | "libpcap" | "af-xdp" | "dpdk" | "pf-ring" | "nfb"
            | "szedata2" => Some(Delivery::Ring),
            "xdp-count" => Some(Delivery::Counted),
            _ => None,
        }
    }

    /// The privilege that it needs; `None` for programs and for names that are no method.
    pub fn privilege(&self) -> Option<Privilege> {
        match self.name() {
            "recv" | "recvmmsg" | "packet-v1" | "packet-v2" | "packet-v3" | "libpcap" => {
                Some(Privilege::RawSockets)
            }
            "af-xdp" | "xdp-count" => Some(Privilege::Bpf),
            "dpdk" | "pf-ring" | "nfb" | "szedata2" => Some(Privilege::Device),
            _ => None,
        }
    }

    /// How its members share frames if the user does not say it: by flow, and by receive queue where the method can do nothing else.
    pub fn usual_fanout(&self) -> FanoutMode {
        match self.name() {
            "af-xdp" | "dpdk" => FanoutMode::Queue,
            _ => FanoutMode::Hash,
        }
    }

    /// The argument after the colon.
    pub fn argument(&self) -> Option<&str> {
        self.argument.as_deref()
    }

    /// The settings except `members`, `fanout` and `work`, in the user's order.
    pub fn settings(&self) -> &[Setting] {
        &self.settings
    }

    /// The names of all settings that the user wrote, `members`, `fanout` and `work` last.
    pub fn all_settings(&self) -> impl Iterator<Item = &str> {
        let members = self.members.map(|_| MEMBERS);
        let fanout = self.fanout.map(|_| FANOUT);
        let work = self.own_work.map(|_| OWN_WORK);
        self.settings.iter().map(|setting| setting.name.as_str()).chain(members).chain(fanout).chain(work)
    }

    /// Its own work per packet, instead of that of the set-up; `None` without the setting.
    pub fn own_work(&self) -> Option<WorkModel> {
        self.own_work
    }

    /// How many threads share the method's frames; `None` without the setting.
    pub fn member_count(&self) -> Option<NonZeroU16> {
        self.members
    }

    /// Which of the threads gets a frame; `None` without the setting.
    pub fn fanout(&self) -> Option<FanoutMode> {
        self.fanout
    }

    /// Whether the user set this setting.
    pub fn has(&self, setting: &str) -> bool {
        self.settings.iter().any(|one| one.name == setting)
    }

    /// Whether it names a device, a library, or arguments for one. These decide which code runs.
    pub fn names_code(&self) -> bool {
        /// Settings that name a library's file, or are passed to a driver, which can load files too.
        const SETTINGS: [&str; 2] = ["library", "devargs"];
        self.argument.is_some() || SETTINGS.iter().any(|setting| self.has(setting))
    }

    /// The value of a setting, if the user set one.
    pub fn value(&self, setting: &str) -> Option<&str> {
        self.settings.iter().find(|one| one.name == setting)?.value.as_deref()
    }

    /// The same method with this number of members, or with one thread.
    #[must_use]
    pub fn with_members(&self, members: Option<NonZeroU16>) -> Self {
        let changed = Self { members, ..self.clone() };
        match self.text_with(MEMBERS, self.members, members) {
            Some(text) => Self { text, ..changed },
            None => changed.with_own_text(),
        }
    }

    /// The same method with this way to share frames, or the usual one.
    #[must_use]
    pub fn with_fanout(&self, fanout: Option<FanoutMode>) -> Self {
        let changed = Self { fanout, ..self.clone() };
        match self.text_with(FANOUT, self.fanout, fanout) {
            Some(text) => Self { text, ..changed },
            None => changed.with_own_text(),
        }
    }

    /// The user's text with another value of a setting: in its place, or at the end. `None` if the user wrote the value in another
    /// way, such as with leading zeros.
    fn text_with<V: fmt::Display>(&self, setting: &str, old: Option<V>, new: Option<V>) -> Option<String> {
        let old = old.map_or(String::new(), |value| format!("+{setting}={value}"));
        let new = new.map_or(String::new(), |value| format!("+{setting}={value}"));
        let at = self.text.rfind(&old)?;
        Some(format!("{}{new}{}", &self.text[..at], &self.text[at + old.len()..]))
    }

    /// Its text by its parts, alike for equal methods.
    fn with_own_text(mut self) -> Self {
        let mut text = self.name.clone();
        if let Some(argument) = &self.argument {
            text += &format!(":{argument}");
        }
        for setting in &self.settings {
            text += &match &setting.value {
                Some(value) => format!("+{}={value}", setting.name),
                None => format!("+{}", setting.name),
            };
        }
        if let Some(members) = self.members {
            text += &format!("+{}={members}", MEMBERS);
        }
        if let Some(fanout) = self.fanout {
            text += &format!("+{}={fanout}", FANOUT);
        }
        if let Some(work) = self.own_work {
            text += &format!("+{OWN_WORK}={work}");
        }
        self.text = text;
        self
    }

    /// The way its members share frames; `None` if it has one thread and no such setting.
    fn effective_fanout(&self) -> Option<FanoutMode> {
        self.fanout.or_else(|| self.members.map(|_| self.usual_fanout()))
    }

    /// Removes the settings that `other` accepts: they do not concern the method. The text stays.
    pub fn split_settings(&mut self, other: impl Fn(&Setting) -> bool) -> Vec<Setting> {
        let (removed, kept) = std::mem::take(&mut self.settings).into_iter().partition(other);
        self.settings = kept;
        removed
    }
}

/// The number of members in a user's text.
///
/// # Errors
/// It is no number, or no number of members that a group can have.
pub fn members(text: &str) -> Result<NonZeroU16, String> {
    let count: Option<NonZeroU16> = text.parse().ok();
    let possible = count.filter(|count| usize::from(count.get()) <= MOST_MEMBERS);
    possible.ok_or_else(|| ParseError::Members { text: text.into(), most: MOST_MEMBERS }.to_string())
}

impl PartialEq for MethodSpec {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
            && self.argument == other.argument
            && self.settings == other.settings
            && self.members == other.members
            && self.effective_fanout() == other.effective_fanout()
            && self.own_work == other.own_work
    }
}

impl Eq for MethodSpec {}

impl Hash for MethodSpec {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.name, &self.argument, &self.settings, self.members, self.own_work).hash(state);
    }
}

/// Parses a setting from text between plus signs. `None` if it has other characters, as paths do.
fn as_setting(text: &str) -> Option<Setting> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(value.to_string())),
        None => (text, None),
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    is_name.then(|| Setting { name: name.into(), value })
}

impl FromStr for MethodSpec {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        // Settings are parsed from the end, because an argument may contain plus signs, as paths do.
        let mut rest = text;
        let mut settings = Vec::new();
        while let Some((before, last)) = rest.rsplit_once('+') {
            let Some(setting) = as_setting(last) else { break };
            if settings.len() == MOST_SETTINGS {
                return Err(format!("\"{text}\" has more than {MOST_SETTINGS} settings"));
            }
            settings.insert(0, setting);
            rest = before;
        }
        let (name, argument) = match rest.split_once(':') {
            Some((name, argument)) => (name, Some(argument.to_string())),
            None => (rest, None),
        };
        let is_name = name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        if !is_name || argument.as_deref() == Some("") {
            return Err(format!(
                "\"{text}\" is no method; write NAME, NAME:ARGUMENT or NAME+SETTING as `capbench methods` lists them"
            ));
        }
        let mut spec = Self { argument, ..Self::plain(name) };
        for setting in settings {
            let value = setting.value.as_deref().unwrap_or_default();
            let is_twice = match setting.name.as_str() {
                MEMBERS => spec.members.is_some(),
                FANOUT => spec.fanout.is_some(),
                OWN_WORK => spec.own_work.is_some(),
                _ => false,
            };
            if is_twice {
                return Err(format!("\"{text}\": +{} appears twice", setting.name));
            }
            match setting.name.as_str() {
                MEMBERS => spec.members = Some(members(value)?),
                FANOUT => spec.fanout = Some(value.parse()?),
                OWN_WORK => spec.own_work = Some(value.parse()?),
                _ => spec.settings.push(setting),
            }
        }
        spec.text = text.into();
        Ok(spec)
    }
}

impl TryFrom<String> for MethodSpec {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<MethodSpec> for String {
    fn from(spec: MethodSpec) -> Self {
        spec.text
    }
}

/// As the user wrote it; `{:#}` writes equal methods alike.
impl fmt::Display for MethodSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            let fanout = self.effective_fanout();
            return f.pad(&Self { fanout, ..self.clone() }.with_own_text().text);
        }
        f.pad(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn spec(text: &str) -> MethodSpec {
        text.parse().unwrap()
    }

    #[test]
    fn name_argument_and_settings_are_distinguished() {
        let full = spec("libpcap:/opt/c++/lib+x/libpcap.so.1+next+timeout=5ms");
        assert_eq!((full.name(), full.argument()), ("libpcap", Some("/opt/c++/lib+x/libpcap.so.1")));
        assert!(full.has("next") && full.value("timeout") == Some("5ms") && full.value("next").is_none());
        assert_eq!(spec("recv"), MethodSpec::plain("recv"));
        let pci = spec("dpdk:0000:03:00.0+burst=64");
        assert_eq!((pci.argument(), pci.value("burst")), (Some("0000:03:00.0"), Some("64")));
        assert_eq!(pci.to_string(), "dpdk:0000:03:00.0+burst=64");
    }

    #[test]
    fn a_method_can_have_its_own_work_once() {
        let own = spec("packet-v3+work=ns:500+spin");
        assert_eq!(
            (own.own_work(), own.has("spin"), own.has("work")),
            (Some(WorkModel::Nanoseconds(500)), true, false)
        );
        assert_eq!(own, spec("packet-v3+spin+work=ns:500"));
        assert_ne!(own, spec("packet-v3+spin"));
        for wrong in ["recv+work", "recv+work=often", "recv+work=touch+work=parse"] {
            assert!(wrong.parse::<MethodSpec>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_number_of_members_is_replaced() {
        let four = |text: &str| spec(text).with_members(NonZeroU16::new(4)).to_string();
        assert_eq!(four("recv"), "recv+members=4");
        assert_eq!(four("packet-v3+members=1+fanout=lb"), "packet-v3+members=4+fanout=lb");
        assert_eq!(four("libpcap:/a+b/c+next"), "libpcap:/a+b/c+next+members=4");
        assert_eq!(four("recv+members=04+spin"), "recv+spin+members=4");
        assert_eq!(four("recv+fanout=lb"), "recv+fanout=lb+members=4", "where the user wrote it");
        assert!("recv+members=2+members=3".parse::<MethodSpec>().is_err_and(|error| error.contains("twice")));
        let without = spec("packet-v3+spin+members=1+fanout=lb").with_members(None);
        assert_eq!(without, spec("packet-v3+spin+fanout=lb"));
    }

    #[test]
    fn a_text_of_many_settings_is_refused() {
        assert_eq!(spec(&format!("recv{}", "+a".repeat(16))).settings().len(), 16);
        let refused = format!("recv{}", "+a".repeat(17)).parse::<MethodSpec>().unwrap_err();
        assert!(refused.contains("more than 16 settings"), "{refused}");
    }

    #[test]
    fn unknown_methods_are_refused() {
        for text in ["", ":", "+x", "libpcap:", "Recv", "recv+", "recv+X", "-x", "a b"] {
            assert!(text.parse::<MethodSpec>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_what_is_read_is_written_alike(text in "\\PC{0,40}") {
            if let Ok(spec) = text.parse::<MethodSpec>() {
                prop_assert_eq!(spec.to_string(), text);
            }
        }
    }
}
