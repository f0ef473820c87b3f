//! What is saved before a change, and the folder that has it. A file is replaced as a whole, and is on the disk before the change
//! that it is about.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use capbench_host::bed::Side;
use capbench_model::bounded_json;
use capbench_sys::host::{Trust, folder};
use serde::{Deserialize, Serialize};

use crate::setting::Setting;
use crate::{Result, TuneError};

/// The version of the file.
const VERSION: u32 = 1;
/// The lock of the folder.
const LOCK: &str = "lock";
/// Longer than any such file.
const LONGEST: u64 = 16 << 20;

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

/// What identifies an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its name.
    pub interface: String,
    /// Its Ethernet address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

impl Identity {
    /// What identifies this interface.
    pub fn of(side: &Side) -> Self {
        let text = |mac: [u8; 6]| mac.map(|octet| format!("{octet:02x}")).join(":");
        Self { interface: side.name().into(), address: side.mac().map(text) }
    }

    /// Checks that a saved state is of this interface.
    ///
    /// # Errors
    /// It is of another one with the same name.
    pub fn check(&self, saved: Option<&State>) -> Result<()> {
        let words = |identity: &Self| identity.address.clone().unwrap_or_else(|| "without an address".into());
        match saved {
            Some(state) if state.identity != *self => Err(TuneError::OtherInterface {
                interface: self.interface.clone(),
                saved: words(&state.identity),
                found: words(self),
            }),
            _ => Ok(()),
        }
    }
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
        let mut text = String::new();
        file.take(LONGEST).read_to_string(&mut text).map_err(|error| failed(error.to_string()))?;
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let version =
            bounded_json::from_slice::<Versioned>(text.as_bytes(), MEMORY).map(|found| found.version);
        match version {
            Ok(version) if version > VERSION => {
                return Err(failed(format!("a later version of capbench wrote it (format {version})")));
            }
            _ => {}
        }
        let state: State =
            bounded_json::from_slice(text.as_bytes(), MEMORY).map_err(|error| failed(error.to_string()))?;
        if state.identity.interface != interface {
            return Err(failed(format!("it is about the interface {:?}", state.identity.interface)));
        }
        Ok(Some(state))
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
    format!("{interface}.json")
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

    fn state() -> State {
        let identity = Identity { interface: "eth0".into(), address: Some("02:00:00:00:00:01".into()) };
        let mut state = State::new(identity, "boot".into());
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
