//! The settings of methods, with their words: for the list of methods and the manual page.

use capbench_capture::method::SettingInfo;
use capbench_lab::subject::{Listed, PathSetting};
use capbench_model::members::MembersSetting;
use capbench_model::method_spec;

/// The setting of any method in commands that measure.
pub const OWN_WORK: SettingInfo = SettingInfo {
    name: method_spec::OWN_WORK,
    value: Some("MODEL"),
    optional: false,
    summary: "its own work per packet, as --work has it, instead of that of --work",
};

/// The settings that may follow a method's name.
pub fn settings(method: &Listed) -> Vec<SettingInfo> {
    let mut all = method.settings.to_vec();
    if method.can_have_members {
        all.extend(MembersSetting::ALL.map(members_setting));
    }
    all
}

fn members_setting(setting: MembersSetting) -> SettingInfo {
    let (value, summary) = match setting {
        MembersSetting::Count => (
            "N",
            "N threads share the frames, each with a ring of its own (in measuring commands; others have --members)",
        ),
        MembersSetting::Fanout => (
            "MODE",
            "which of them gets a frame: hash (by flow, the default), cpu, queue (af-xdp has only this), lb (in turn), rollover, bpf",
        ),
    };
    SettingInfo { name: setting.name(), value: Some(value), optional: false, summary }
}

/// What a setting of bench's own link does.
pub fn path_setting_words(setting: PathSetting) -> &'static str {
    match setting {
        PathSetting::NapiThread => "the kernel polls the link by a NAPI thread instead of softirqs",
        PathSetting::NapiDefer => {
            "the same by timer, with interrupts held off (napi_defer_hard_irqs, gro_flush_timeout)"
        }
    }
}
