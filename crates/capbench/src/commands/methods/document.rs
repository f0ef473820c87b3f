//! What `methods --json` prints. `docs/methods.schema.json` is its schema.

use capbench_capture::VlanTags;
use capbench_capture::method::SettingInfo;
use capbench_lab::subject::{Listed, PathSetting};
use capbench_traffic::transmit::{self, TransmitMethod};
use schemars::JsonSchema;
use serde::Serialize;

use super::settings::{path_setting_words, settings};

/// Version of [`Document`].
pub const SCHEMA_VERSION: u32 = 2;

/// Every method.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document<'l> {
    /// Increases when a reader of older documents would misunderstand newer ones.
    schema_version: u32,
    /// The capture methods, programs included.
    methods: Vec<Capture<'l>>,
    /// The settings that any method accepts on bench's own link.
    path_settings: Vec<Setting<'l>>,
    /// The ways to transmit.
    transmit: Vec<Transmit<'l>>,
}

/// A capture method.
#[derive(Debug, Serialize, JsonSchema)]
struct Capture<'l> {
    /// The name that selects it.
    method: &'l str,
    /// How it works, in one line.
    summary: &'l str,
    /// Whether it can run here.
    runs_here: bool,
    /// Why it cannot run here; null if it can.
    reason: Option<&'l str>,
    /// The privilege that it needs, as in capabilities(7).
    privilege: &'l str,
    /// What nobody has tested yet; null if everything is tested.
    untested: Option<&'l str>,
    /// Where it provides VLAN tags; null for programs.
    vlan_tags: Option<&'l str>,
    /// The command line's options that it uses.
    options: &'l [&'l str],
    /// The argument that can follow a colon after its name; null if there is none.
    argument: Option<Argument<'l>>,
    /// The settings that can follow a plus sign after its name.
    settings: Vec<Setting<'l>>,
    /// Variants that a table of all methods lists.
    variants: &'l [&'l str],
    /// Whether bench runs it if the user names no method.
    in_default: bool,
}

/// The argument of a method.
#[derive(Debug, Serialize, JsonSchema)]
struct Argument<'l> {
    /// What it is, in one word.
    placeholder: &'l str,
    /// Whether the method needs it: always false.
    required: bool,
    /// What it does.
    summary: &'l str,
}

/// A setting of a method.
#[derive(Debug, Serialize, JsonSchema)]
struct Setting<'l> {
    /// Its name, which follows the plus sign.
    setting: &'l str,
    /// What its value is; null if it has none.
    value: Option<&'l str>,
    /// Whether the value can be left out.
    value_is_optional: bool,
    /// What it does.
    summary: &'l str,
}

/// A way to transmit.
#[derive(Debug, Serialize, JsonSchema)]
struct Transmit<'l> {
    /// The name that selects it.
    method: &'l str,
    /// How it works, in one line.
    summary: &'l str,
    /// Whether it can run here.
    runs_here: bool,
    /// Why it cannot run here; null if it can.
    reason: Option<String>,
}

impl<'l> Document<'l> {
    /// These methods, and every way to transmit.
    pub fn new(methods: &'l [Listed]) -> Self {
        let of_path = PathSetting::ALL.map(|known| Setting {
            setting: known.name(),
            value: None,
            value_is_optional: true,
            summary: path_setting_words(known),
        });
        Self {
            schema_version: SCHEMA_VERSION,
            methods: methods.iter().map(Capture::of).collect(),
            path_settings: of_path.into(),
            transmit: transmit::METHODS.iter().map(Transmit::of).collect(),
        }
    }
}

impl<'l> Capture<'l> {
    fn of(method: &'l Listed) -> Self {
        let mut all = Vec::new();
        for SettingInfo { name, value, optional, summary } in settings(method) {
            all.push(Setting { setting: name, value, value_is_optional: optional, summary });
        }
        Self {
            method: &method.name,
            summary: &method.summary,
            runs_here: method.here.is_ok(),
            reason: method.here.as_ref().err().map(String::as_str),
            privilege: method.privilege,
            untested: method.untested.as_deref(),
            vlan_tags: method.vlan_tags.map(VlanTags::name),
            options: &method.options,
            argument: method.argument.map(|argument| Argument {
                placeholder: argument.placeholder,
                required: false,
                summary: argument.summary,
            }),
            settings: all,
            variants: method.variants,
            in_default: method.in_default,
        }
    }
}

impl Transmit<'static> {
    fn of(method: &'static TransmitMethod) -> Self {
        let here = (method.supported)();
        Self { method: method.name, summary: method.summary, runs_here: here.is_ok(), reason: here.err() }
    }
}
