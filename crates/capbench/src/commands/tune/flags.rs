//! Flags of `capbench tune`.

use std::path::PathBuf;

use capbench_sys::host::affinity::parse_cpu_list;
use capbench_tune::{ItemName, Wishes};
use clap::{Args, ValueEnum};

#[derive(Args, Clone, Debug)]
#[command(
    after_help = "check: exit code 0 if nothing stands against capture, 3 if a setting does. apply and restore: 1 if a change \
could not be made. docs/tune.md"
)]
pub struct TuneFlags {
    /// What to do
    #[arg(value_enum)]
    pub action: Action,
    /// Interface of the capture
    #[arg(short = 'i', long, value_name = "IF", required_unless_present_any = ["run", "list"])]
    pub interface: Option<String>,
    /// check: what stood against capture in a saved run, from what it recorded; its directory, or its results.json
    #[arg(long, value_name = "DIR")]
    pub run: Option<PathBuf>,
    /// CPUs for capture, such as 2-5 or 2,4 [default: those next to the card]
    #[arg(long, value_name = "LIST", value_parser = cpus)]
    pub cpus: Option<CpuList>,
    /// Items to look at, such as rings,interrupts [default: all]
    #[arg(long, value_name = "ITEM", value_delimiter = ',')]
    pub only: Vec<ItemName>,
    /// Folder of the saved settings
    #[arg(long, value_name = "DIR", default_value = "/var/lib/capbench/tune")]
    pub state: PathBuf,
    /// Apply to an interface with an address or a default route: its link can be interrupted
    #[arg(long)]
    pub isolated: bool,
    /// Overwrite what somebody else changed since apply; restore: forget what cannot be restored
    #[arg(long)]
    pub force: bool,
    /// restore: list the saved settings, each with its interface; restores nothing
    #[arg(long, conflicts_with = "interface")]
    pub list: bool,
    /// check: one JSON document
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Action {
    /// Say what stands against capture; changes nothing
    Check,
    /// Print the commands that change it; changes nothing
    Plan,
    /// Save the settings, then make these changes
    Apply,
    /// Set everything as it was before apply
    Restore,
}

#[derive(Clone, Debug)]
pub struct CpuList(pub Vec<u32>);

fn cpus(text: &str) -> Result<CpuList, String> {
    let list = parse_cpu_list(text).filter(|cpus| !cpus.is_empty());
    let list = list.ok_or_else(|| "write CPUs as a list such as 2-5 or 2,4".to_owned())?;
    Ok(CpuList(list.into_iter().map(|cpu| cpu.number()).collect()))
}

impl TuneFlags {
    /// What the user wants.
    pub fn wishes(&self) -> Wishes {
        let cpus = self.cpus.as_ref().map(|list| list.0.clone()).unwrap_or_default();
        Wishes { cpus, only: self.only.clone() }
    }

    /// The interface of the capture.
    pub fn interface(&self) -> &str {
        self.interface.as_deref().expect("clap asks for one where there is no --run")
    }
}
