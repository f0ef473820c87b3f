//! The folder with the saved states of interfaces. A file is replaced as a whole, and is on the disk before the change that it is
//! about.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use capbench_sys::host::{Trust, folder};

use crate::state::{Identity, State, is_interface_name};
use crate::{Result, TuneError};

/// The lock of the folder.
const LOCK: &str = "lock";
/// The end of a state's name.
const ENDING: &str = ".json";
/// Longer than any such file: a card with 1024 queues needs 600 KiB.
const LONGEST: u64 = 4 << 20;
const FILE_MODE: u32 = 0o600;

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

#[cfg(test)]
mod tests {
    use capbench_testing::Scratch;

    use super::*;
    use crate::setting::Setting;
    use crate::state::tests::{identity, state};

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
    fn a_state_is_found_under_the_name_that_its_interface_had() {
        let scratch = Scratch::new();
        let mut folder = Folder::open(scratch.path(), true).unwrap().unwrap();
        let named = |name: &str| Identity { bus: Some("b1".into()), ..identity(name) };
        let mut saved = state();
        saved.identity = named("eth0");
        folder.save(&saved).unwrap();
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
