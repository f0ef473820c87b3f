//! The link by which Wireshark and tshark find this program.

use std::env;
use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;

use crate::exit::Usage;
use crate::output::print;

/// The name under which Wireshark finds this program, and starts it without a subcommand.
pub const PROGRAM: &str = "capbench-extcap";

/// Makes the link and prints its path.
pub fn run(folder: Option<&Path>) -> Result<()> {
    let program = env::current_exe().context("cannot find out where this program is")?;
    let folders = match folder {
        Some(folder) => {
            vec![(
                folder.to_path_buf(),
                "every Wireshark that looks there; tshark -G folders lists its folders",
            )]
        }
        None => own_folders()?,
    };
    let mut text = String::new();
    for (folder, who) in folders {
        let made = link(&program, &folder)?;
        let place = folder.join(PROGRAM);
        text += &format!("{} -> {} ({made}), for {who}\n", place.display(), program.display());
    }
    text += "Interfaces are called capbench-IF there; `tshark -D` lists them. Users without CAP_NET_RAW see them and cannot capture.\n";
    print(&text)
}

/// Folders of this user where Wireshark looks for programs, each with the Wireshark that does.
fn own_folders() -> Result<Vec<(PathBuf, &'static str)>> {
    let folder_of = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let Some(home) = folder_of("HOME") else {
        return Err(Usage("--install: HOME is not set; name the folder, --install DIR".into()).into());
    };
    let settings = folder_of("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config"));
    Ok(vec![
        (home.join(".local/lib/wireshark/extcap"), "Wireshark 4.2 and later"),
        (settings.join("wireshark/extcap"), "Wireshark before 4.2"),
    ])
}

/// Makes the link in a folder and returns what it did.
fn link(program: &Path, folder: &Path) -> Result<String> {
    Folder::create(folder, &Trust::for_output())
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let place = folder.join(PROGRAM);
    let attempt = || format!("cannot make the link {}", place.display());
    let before = match fs::read_link(&place) {
        Ok(target) if target == program => return Ok("was there already".into()),
        Ok(target) => {
            fs::remove_file(&place).with_context(attempt)?;
            Some(target)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            bail!("{} exists and is not a link; move it away, then start again", place.display())
        }
        Err(error) => return Err(error).with_context(attempt),
    };
    symlink(program, &place).with_context(attempt)?;
    Ok(before.map_or("new".into(), |target| format!("led to {} before", target.display())))
}
