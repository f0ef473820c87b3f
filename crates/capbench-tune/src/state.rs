//! What is saved of an interface before a change, and which interface that is later.

use capbench_host::bed::Side;
use capbench_model::bounded_json;
use capbench_sys::host::{SysfsView, ethtool};
use serde::{Deserialize, Serialize};

use crate::setting::Setting;

/// The version of the file.
const VERSION: u32 = 1;
/// Memory of a state, as a multiple of its length.
const MEMORY: usize = 12;

/// The settings of an interface before `apply`, and what `apply` made of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    version: u32,
    /// The interface.
    pub identity: Identity,
    /// The start of the host in which the settings were changed (`/proc/sys/kernel/random/boot_id`).
    pub boot: String,
    /// How far the command came.
    pub phase: Phase,
    /// Every setting that was changed, or that a change could have reset.
    pub saved: Vec<Saved>,
}

/// What identifies an interface. A name and an address can change; the permanent address, the bus and, within a start of the host,
/// the number do not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its name.
    pub interface: String,
    /// Its Ethernet address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// The Ethernet address that it was made with. Virtual interfaces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permanent_address: Option<String>,
    /// The address of its device on the bus, for example `0000:00:06.0`. Virtual interfaces have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus: Option<String>,
    /// Its network namespace, by its inode, and its number there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<Placed>,
}

/// Where an interface is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Its network namespace, by its inode.
    pub namespace: u64,
    /// Its number there.
    pub index: u32,
}

impl Identity {
    /// What identifies this interface.
    pub fn of(side: &Side) -> Self {
        let text = |mac: [u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":");
        let link = side.link().ok();
        Self {
            interface: side.name().into(),
            address: side.mac().map(text),
            permanent_address: link.and_then(|link| link.permanent_mac).map(text),
            bus: side.run(|| bus(side.name())).ok().flatten(),
            place: Some(Placed { namespace: side.namespace().inode(), index: side.index().number() }),
        }
    }

    /// Whether this is the interface of a saved identity. `is_same_start`: the host has not been started since; only then its number
    /// says something.
    pub fn is(&self, saved: &Self, is_same_start: bool) -> bool {
        if let (Some(one), Some(other)) = (&self.permanent_address, &saved.permanent_address) {
            return one == other;
        }
        if let (Some(one), Some(other)) = (&self.bus, &saved.bus) {
            return one == other;
        }
        if let (Some(one), Some(other)) = (self.place, saved.place)
            && is_same_start
        {
            return one == other;
        }
        (&self.interface, &self.address) == (&saved.interface, &saved.address)
    }

    /// In words, for a list and for messages.
    pub fn in_words(&self) -> String {
        let part = |name: &str, value: &Option<String>| value.as_ref().map(|value| format!("{name} {value}"));
        let parts = [
            part("address", &self.address),
            part("permanent address", &self.permanent_address)
                .filter(|_| self.permanent_address != self.address),
            part("bus", &self.bus),
        ];
        let parts: Vec<_> = parts.into_iter().flatten().collect();
        if parts.is_empty() { "without an address".into() } else { parts.join(", ") }
    }
}

/// The address on the bus of an interface of the calling thread's network namespace. Virtual interfaces have no device, and their
/// drivers write the same text for all of them: "N/A" for a bridge, "tap" for a tap interface. Without sysfs it is unknown.
fn bus(interface: &str) -> Option<String> {
    SysfsView::of_current_namespace().ok()?.list(&format!("class/net/{interface}/device")).ok()?;
    ethtool::driver(interface).ok().map(|driver| driver.bus).filter(|bus| !bus.is_empty())
}

/// How far a command came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// `apply` began, and did not end.
    Applying,
    /// `apply` ended.
    Applied,
    /// `restore` began, and did not end.
    Restoring,
}

/// A setting that was saved. An absent value: the host had no such setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saved {
    /// The setting.
    pub setting: Setting,
    /// Its value before the first `apply`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// The value that `apply` set. Absent if it did not set this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<String>,
    /// The value that was asked for where the driver granted another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<String>,
    /// Whether an `apply` found that somebody else had changed it after the one before.
    #[serde(default)]
    pub of_others: bool,
    /// Its value when the last `apply` ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The value that `restore` gives it. Absent if it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl State {
    /// Reads the file of an interface. It is checked: a name in it leads to no other file than one of settings.
    ///
    /// # Errors
    /// The reason: it is damaged, names what is no setting, or is of a later version.
    pub fn parse(octets: &[u8]) -> std::result::Result<Self, String> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        match bounded_json::from_slice::<Versioned>(octets, MEMORY).map(|found| found.version) {
            Ok(version) if version > VERSION => {
                return Err(format!("a later version of capbench wrote it (format {version})"));
            }
            _ => {}
        }
        let state: Self = bounded_json::from_slice(octets, MEMORY).map_err(|error| error.to_string())?;
        if !is_interface_name(&state.identity.interface) {
            return Err(format!("{:?} is no name of an interface", state.identity.interface));
        }
        match state.saved.iter().find(|saved| !saved.setting.is_one()) {
            Some(Saved { setting, .. }) => Err(format!("{setting:?} is no setting that capbench changes")),
            None => Ok(state),
        }
    }

    /// Whether it is of this start of the host.
    pub fn is_of(&self, boot: &str) -> bool {
        self.boot == boot
    }

    /// The interface of this state among those that are present in a network namespace. Ports of one device can have the same bus
    /// address: the one with the saved number is the interface, else the one with the saved name.
    pub fn interface_among<'p>(&self, present: &'p [Identity], boot: &str) -> Option<&'p Identity> {
        let (saved, is_same_start) = (&self.identity, self.is_of(boot));
        let rank = |one: &&Identity| {
            (
                is_same_start && saved.place.is_some() && one.place == saved.place,
                one.interface == saved.interface,
            )
        };
        present.iter().filter(|one| one.is(saved, is_same_start)).max_by_key(rank)
    }

    /// Nothing is saved yet.
    pub fn new(identity: Identity, boot: String) -> Self {
        Self { version: VERSION, identity, boot, phase: Phase::Applying, saved: Vec::new() }
    }

    /// Saves a value that was there before a change.
    pub(crate) fn add(&mut self, setting: Setting, before: Option<String>) {
        self.saved.push(Saved {
            setting,
            before,
            set: None,
            asked: None,
            of_others: false,
            after: None,
            target: None,
        });
    }

    /// The entry of a setting.
    pub(crate) fn of(&mut self, setting: &Setting) -> Option<&mut Saved> {
        self.saved.iter_mut().find(|saved| saved.setting == *setting)
    }
}

/// Whether the kernel accepts it as the name of an interface (`dev_valid_name` of net/core/dev.c). Such a name is also one of a file.
pub(crate) fn is_interface_name(name: &str) -> bool {
    /// `IFNAMSIZ` of linux/if.h, less the end.
    const LONGEST_NAME: usize = 15;
    let is_refused = |octet: u8| octet == b'/' || octet == b':' || octet == 0 || octet.is_ascii_whitespace();
    (1..=LONGEST_NAME).contains(&name.len()) && name != "." && name != ".." && !name.bytes().any(is_refused)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn identity(name: &str) -> Identity {
        Identity { interface: name.into(), address: Some("02:00:00:00:00:01".into()), ..Identity::default() }
    }

    pub(crate) fn state() -> State {
        let mut state = State::new(identity("eth0"), "boot".into());
        state.add(Setting::Cpu { cpu: 1, file: "cpuidle/state2/disable".into() }, Some("0".into()));
        state
    }

    #[test]
    fn an_interface_is_the_same_by_what_cannot_change() {
        let some = |text: &str| Some(text.to_owned());
        let card = Identity { permanent_address: some("p1"), bus: some("b1"), ..identity("eth0") };
        let in_bond = Identity { address: some("of the bond"), interface: "lan0".into(), ..card.clone() };
        assert!(in_bond.is(&card, false), "renamed, and with the address of a bond");
        let other_port = Identity { permanent_address: some("p2"), ..card.clone() };
        assert!(!other_port.is(&card, true), "same name, address and bus");
        let without = |bus: &str| Identity { permanent_address: None, bus: some(bus), ..card.clone() };
        assert!(without("b1").is(&card, false) && !without("b2").is(&card, true));
        let virtual_one =
            |index| Identity { place: Some(Placed { namespace: 1, index }), ..identity("veth0") };
        let renamed = Identity { interface: "x".into(), address: None, ..virtual_one(7) };
        assert!(renamed.is(&virtual_one(7), true) && !virtual_one(8).is(&virtual_one(7), true));
        assert!(virtual_one(8).is(&virtual_one(7), false), "numbers begin anew: by name and address");
        assert!(virtual_one(7).is(&identity("veth0"), true), "an older file has no more");
    }

    #[test]
    fn of_two_ports_of_a_device_the_one_with_the_saved_number_is_the_interface() {
        let port = |name: &str, index| Identity {
            bus: Some("b1".into()),
            place: Some(Placed { namespace: 1, index }),
            ..identity(name)
        };
        let state = State { identity: port("p0", 5), ..state() };
        let present = [port("lan0", 5), port("p0", 6)];
        assert_eq!(state.interface_among(&present, "boot"), Some(&present[0]), "renamed");
        assert_eq!(state.interface_among(&present, "later"), Some(&present[1]), "numbers begin anew");
        assert_eq!(state.interface_among(&[], "boot"), None);
    }
}
