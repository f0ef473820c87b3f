//! `capbench export`: saved runs into a dataset of Parquet files.

use std::path::PathBuf;

use anyhow::Result;
use capbench_dataset::export::{self, Export, Exported};
use capbench_dataset::layout::Labels;
use capbench_report::figures::many;
use clap::Args;

use crate::exit::{self, Exit};
use crate::output::print;

/// What to export, and where to.
#[derive(Args, Clone, Debug)]
pub struct ExportFlags {
    /// Directories of runs, or folders that have some below them
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// Folder of the dataset; created if it does not exist. A run that it has already is written anew, with the same labels
    #[arg(long, value_name = "DIR")]
    to: PathBuf,
    /// Label of these runs, for comparisons and filters; can be repeated. campaign=NAME is a folder of the dataset
    #[arg(long, value_name = "NAME=VALUE")]
    label: Vec<String>,
    /// Name of the host instead of the hash of its machine-id
    #[arg(long, value_name = "ID")]
    host_id: Option<String>,
}

pub fn run(flags: &ExportFlags) -> Result<Exit> {
    let labels = Labels::parse(&flags.label)?;
    let mut failed = 0;
    let mut runs = Vec::new();
    for path in &flags.runs {
        match export::runs_in(path) {
            Ok(found) => {
                for folder in &found.repeated {
                    tell!("capbench: left out {}: attempts that a campaign repeated", folder.display());
                }
                runs.extend(found.runs);
            }
            Err(error) => {
                failed += 1;
                tell!("capbench: {error}");
            }
        }
    }
    let mut export = Export::open(&flags.to, labels, flags.host_id.clone())?;
    for path in &runs {
        match export.add(path) {
            Ok(warnings) => {
                warnings.iter().for_each(|warning| tell!("capbench: {}: {warning}", path.display()));
            }
            Err(error) if error.is_of_dataset() => return Err(error.into()),
            Err(error) => {
                failed += 1;
                tell!("capbench: not exported: {error}");
            }
        }
    }
    let Exported { runs, trials, leftovers } = export.finish()?;
    let to = flags.to.display();
    let not = if failed > 0 { format!("; {failed} could not be exported") } else { String::new() };
    let mut text = format!(
        "Exported {} with {} to {to}{not}.\n",
        many(runs as u64, "run", "runs"),
        many(trials as u64, "trial", "trials")
    );
    if leftovers > 0 {
        text += &format!(
            "Removed {} of an export that was killed.\n",
            many(leftovers as u64, "unfinished file", "unfinished files")
        );
    }
    print(&text)?;
    Ok(if failed > 0 { Exit::Partly(exit::FAILED) } else { Exit::Done })
}
