//! What is saved before a change, and the folder that has it. A file is replaced as a whole, and is on the disk before the change
//! that it is about.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use capbench_host::bed::Side;
use capbench_model::bounded_json;
use capbench_sys::host::{SysfsView, Trust, ethtool, folder};
use serde::{Deserialize, Serialize};

use crate::setting::Setting;
use crate::{Result, TuneError};

/// The version of the file.
const VERSION: u32 = 1;
/// The lock of the folder.
const LOCK: &str = "lock";
/// The end of a state's name.
const ENDING: &str = ".json";
/// Longer than any such file: a card with 1024 queues needs 600 KiB.
const LONGEST: u64 = 4 << 20;
/// Memory of a state, as a multiple of its length.
const MEMORY: usize = 12;
const FILE_MODE: u32 = 0o600;

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

/// A folder with the states of interfaces, which this process has for itself.
#[derive(Debug)]
pub struct Folder {
    folder: folder::Folder,
    trust: Trust,
    _lock: File,
}

impl Folder {
    /// Opens the folder and locks it. With `creates`, makes it if it is missing; otherwise a missing one is `None`.
    ///
    /// # Errors
    /// Others control it, another process has it, or it cannot be made.
    pub fn open(path: &Path, creates: bool) -> Result<Option<Self>> {
        let trust = Trust::for_settings();
        let failed = |attempt| {
            move |error: io::Error| TuneError::State {
                attempt,
                path: path.into(),
                reason: format!("{error}; give another folder with --state, which only root may write"),
            }
        };
        let folder = match (creates, folder::Folder::open(path, &trust)) {
            (false, Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            (true, Err(error)) if error.kind() == io::ErrorKind::NotFound => {
                folder::Folder::create(path, &trust)
            }
            (_, opened) => opened,
        };
        let folder = folder.map_err(failed("cannot open the folder of saved settings"))?;
        let lock =
            folder.try_lock(OsStr::new(LOCK)).map_err(failed("cannot lock the folder of saved settings"))?;
        let Some(lock) = lock else {
            return Err(TuneError::State {
                attempt: "cannot lock the folder of saved settings",
                path: path.into(),
                reason: "another capbench tune works there; wait until it has ended".into(),
            });
        };
        // Nobody else writes there: what is left is of processes that were killed.
        folder.remove_temporaries().map_err(failed("cannot tidy the folder of saved settings"))?;
        Ok(Some(Self { folder, trust, _lock: lock }))
    }

    /// The saved state of an interface; `None` if there is none.
    ///
    /// # Errors
    /// The file cannot be read, is damaged, or is of a later version. It is left as it is.
    pub fn load(&self, interface: &str) -> Result<Option<State>> {
        if !is_interface_name(interface) {
            return Err(TuneError::Name { interface: interface.into() });
        }
        let name = file_name(interface);
        let failed = |reason: String| TuneError::State {
            attempt: "cannot read the saved settings",
            path: self.folder.path().join(&name),
            reason: format!(
                "{reason}; the file is left as it is: put an intact copy in its place, or move it away and set the \
                 settings by hand"
            ),
        };
        let file = match self.folder.open_file(OsStr::new(&name), &self.trust) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| failed(error.to_string()))?,
        };
        let mut octets = Vec::new();
        file.take(LONGEST).read_to_end(&mut octets).map_err(|error| failed(error.to_string()))?;
        let state = State::parse(&octets).map_err(&failed)?;
        if state.identity.interface != interface {
            return Err(failed(format!("it is about the interface {:?}", state.identity.interface)));
        }
        Ok(Some(state))
    }

    /// Every saved state, by name of its interface; for one that cannot be read the reason.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(&self) -> Result<Vec<Result<State>>> {
        let mut names = self.folder.names().map_err(|error| TuneError::State {
            attempt: "cannot list the saved settings in",
            path: self.folder.path().into(),
            reason: error.to_string(),
        })?;
        names.sort();
        let interfaces = names.iter().filter_map(|name| name.to_str()?.strip_suffix(ENDING));
        let interfaces = interfaces.filter(|name| is_interface_name(name));
        Ok(interfaces.filter_map(|name| self.load(name).transpose()).collect())
    }

    /// The saved state of an interface that is present, also if it had another name when it was saved. `present` are all
    /// interfaces of its network namespace.
    ///
    /// # Errors
    /// As [`Self::load`].
    pub fn load_of(&self, interface: &str, present: &[Identity], boot: &str) -> Result<Option<State>> {
        let is_its = |state: &State| {
            state.interface_among(present, boot).is_some_and(|found| found.interface == interface)
        };
        if let Some(state) = self.load(interface)?
            && is_its(&state)
        {
            return Ok(Some(state));
        }
        // One that cannot be read is of another name, and named when that is asked for.
        Ok(self.all()?.into_iter().flatten().find(is_its))
    }

    fn failed_to_write(&self, name: &str, error: &io::Error) -> TuneError {
        TuneError::State {
            attempt: "cannot save the settings in",
            path: self.folder.path().join(name),
            reason: format!("{error}; nothing is changed without it"),
        }
    }
}

fn file_name(interface: &str) -> String {
    format!("{interface}{ENDING}")
}

/// Whether the kernel accepts it as the name of an interface (`dev_valid_name` of net/core/dev.c). Such a name is also one of a file.
fn is_interface_name(name: &str) -> bool {
    /// `IFNAMSIZ` of linux/if.h, less the end.
    const LONGEST_NAME: usize = 15;
    let is_refused = |octet: u8| octet == b'/' || octet == b':' || octet == 0 || octet.is_ascii_whitespace();
    (1..=LONGEST_NAME).contains(&name.len()) && name != "." && name != ".." && !name.bytes().any(is_refused)
}

/// Where states are saved.
pub trait Journal {
    /// Saves a state in the place of the last one. It is on the disk when this returns.
    ///
    /// # Errors
    /// It cannot be written; the last one is unchanged.
    fn save(&mut self, state: &State) -> Result<()>;

    /// Removes the state of an interface.
    ///
    /// # Errors
    /// It cannot be removed.
    fn remove(&mut self, state: &State) -> Result<()>;
}

impl Journal for Folder {
    fn save(&mut self, state: &State) -> Result<()> {
        let name = file_name(&state.identity.interface);
        let text = serde_json::to_string_pretty(state).map_err(io::Error::from);
        let saved = text.and_then(|text| {
            self.folder.temporary(FILE_MODE)?.with((text + "\n").as_bytes())?.replace(OsStr::new(&name))
        });
        saved.map_err(|error| self.failed_to_write(&name, &error))
    }

    fn remove(&mut self, state: &State) -> Result<()> {
        let name = file_name(&state.identity.interface);
        let removed = self.folder.remove(OsStr::new(&name)).and_then(|()| self.folder.sync());
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(self.failed_to_write(&name, &error)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use capbench_testing::Scratch;

    use super::*;

    fn identity(name: &str) -> Identity {
        Identity { interface: name.into(), address: Some("02:00:00:00:00:01".into()), ..Identity::default() }
    }

    fn state() -> State {
        let mut state = State::new(identity("eth0"), "boot".into());
        state.add(Setting::Cpu { cpu: 1, file: "cpuidle/state2/disable".into() }, Some("0".into()));
        state
    }

    #[test]
    fn a_state_is_read_as_it_was_saved_and_is_gone_when_removed() {
        let scratch = Scratch::new();
        let path = scratch.file("a/states");
        assert!(Folder::open(&path, false).unwrap().is_none());
        let mut folder = Folder::open(&path, true).unwrap().unwrap();
        assert_eq!(folder.load("eth0").unwrap(), None);
        folder.save(&state()).unwrap();
        assert_eq!(folder.load("eth0").unwrap(), Some(state()));
        assert!(Folder::open(&path, true).unwrap_err().to_string().contains("another capbench tune"));
        folder.remove(&state()).unwrap();
        folder.remove(&state()).unwrap();
        assert_eq!(folder.load("eth0").unwrap(), None);
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
    fn a_state_is_found_under_the_name_that_its_interface_had() {
        let scratch = Scratch::new();
        let mut folder = Folder::open(scratch.path(), true).unwrap().unwrap();
        let named = |name: &str| Identity { bus: Some("b1".into()), ..identity(name) };
        folder.save(&State { identity: named("eth0"), ..state() }).unwrap();
        std::fs::write(scratch.file("bad.json"), "{").unwrap();
        let found = folder.load_of("lan0", &[named("lan0")], "boot").unwrap().unwrap();
        assert_eq!(found.identity.interface, "eth0");
        let both = [named("lan0"), named("eth0")];
        assert_eq!(folder.load_of("lan0", &both, "boot").unwrap(), None, "another port of the device");
        assert_eq!(folder.load_of("eth0", &both, "boot").unwrap(), Some(found));
        let other = Identity { bus: Some("b2".into()), ..named("eth0") };
        let found = folder.load_of("eth0", &[other], "boot").unwrap();
        assert_eq!(found, None, "another one that has the name now");
        let all: Vec<_> = folder.all().unwrap().into_iter().map(|state| state.is_ok()).collect();
        assert_eq!(all, [false, true]);
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

    #[test]
    fn no_name_in_a_state_leads_to_another_file() {
        let scratch = Scratch::new();
        let folder = Folder::open(scratch.path(), true).unwrap().unwrap();
        for name in ["../eth0", "..", "", "a/b", "a b", "sixteen_letters_"] {
            let error = folder.load(name).unwrap_err().to_string();
            assert!(error.contains("no name of an interface"), "{name}: {error}");
        }
        let with = |setting: Setting| {
            let mut state = state();
            state.add(setting, Some("1".into()));
            State::parse(&serde_json::to_vec(&state).unwrap())
        };
        for good in ["cpufreq/scaling_governor", "cpuidle/state12/disable"] {
            assert!(with(Setting::Cpu { cpu: 0, file: good.into() }).is_ok(), "{good}");
        }
        assert!(with(Setting::Queue("rx-0/rps_cpus".into())).is_ok());
        for bad in [
            Setting::Cpu { cpu: 0, file: "../../power/state".into() },
            Setting::Cpu { cpu: 0, file: "cpuidle/state1/../disable".into() },
            Setting::Queue("rx-0/../../address".into()),
            Setting::Queue("rx-0".into()),
            Setting::Sysctl("kernel.core_pattern".into()),
            Setting::Sysctl("net.core./../../kernel/core_pattern".into()),
        ] {
            let error = with(bad.clone()).unwrap_err();
            assert!(error.contains("no setting that capbench changes"), "{bad:?}: {error}");
        }
    }

    #[test]
    fn a_bad_file_is_named_and_left() {
        let scratch = Scratch::new();
        let folder = Folder::open(scratch.path(), true).unwrap().unwrap();
        let file = scratch.file("eth0.json");
        let intact = serde_json::to_string(&state()).unwrap();
        for (text, expected) in [
            ("", "EOF"),
            (&intact[..intact.len() / 2], "EOF"),
            ("{\"version\": 9, \"new\": 1}", "a later version of capbench wrote it (format 9)"),
            (&intact.replace("eth0", "eth1"), "it is about the interface \"eth1\""),
            ("[]", "invalid"),
        ] {
            std::fs::write(&file, text).unwrap();
            let error = folder.load("eth0").unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("eth0.json"), "{error}");
            assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "it is left as it is");
        }
    }

    #[test]
    fn root_a_folder_or_a_file_of_others_is_refused() {
        use std::os::unix::fs::{PermissionsExt, chown};
        let scratch = Scratch::new();
        let path = scratch.file("states");
        std::fs::create_dir(&path).unwrap();
        if chown(&path, Some(1234), None).is_err() {
            return capbench_testing::missing("root, to make a folder of another user");
        }
        let error = Folder::open(&path, true).unwrap_err().to_string();
        assert!(error.contains("belongs to user 1234") && error.contains("--state"), "{error}");
        chown(&path, Some(0), None).unwrap();
        let folder = Folder::open(&path, true).unwrap().unwrap();
        let file = path.join("eth0.json");
        std::fs::write(&file, serde_json::to_string(&state()).unwrap()).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
        let error = folder.load("eth0").unwrap_err().to_string();
        assert!(error.contains("may be written by everybody"), "{error}");
    }
}
