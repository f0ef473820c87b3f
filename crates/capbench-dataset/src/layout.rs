//! Where the files of a dataset are.
//!
//! Names that begin with a dot are no tables: the folder of files that are being written, and the lock of exports.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use crate::error::{DatasetError, Result};

/// Version of the columns. It rises when a reader of older files would misunderstand newer ones.
pub const VERSION: &str = "v=1";
/// The campaign of runs without the label.
pub const NO_CAMPAIGN: &str = "none";
/// The label that names the campaign.
pub const CAMPAIGN: &str = "campaign";
/// Ending of data files.
const ENDING: &str = "parquet";

/// The labels of an export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// The campaign, a partition.
    pub campaign: String,
    /// The other labels, a column.
    pub others: BTreeMap<String, String>,
}

impl Labels {
    /// The labels of a command line, `NAME=VALUE` each.
    ///
    /// # Errors
    /// One is not written so, is named twice, or is a campaign that cannot be a folder.
    pub fn parse(texts: &[String]) -> Result<Self> {
        let mut others = BTreeMap::new();
        for text in texts {
            let refuse = |why| DatasetError::Label(text.clone(), why);
            let (name, value) = text.split_once('=').ok_or_else(|| refuse("write it as NAME=VALUE"))?;
            if name.is_empty() {
                return Err(refuse("its name is empty; write it as NAME=VALUE"));
            }
            if others.insert(name.to_string(), value.to_string()).is_some() {
                return Err(refuse("this name has a value already"));
            }
        }
        let campaign = others.remove(CAMPAIGN).unwrap_or_else(|| NO_CAMPAIGN.into());
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        if campaign.is_empty() || campaign.starts_with('.') || !campaign.chars().all(is_plain) {
            let why = "a campaign names a folder: letters, digits, `-`, `_` and `.`, and no dot first";
            return Err(DatasetError::Label(format!("{CAMPAIGN}={campaign}"), why));
        }
        Ok(Self { campaign, others })
    }
}

/// A partition: the folder of a table's files of one campaign and day.
pub fn partition(table: &str, campaign: &str, date: &str) -> PathBuf {
    Path::new(table).join(VERSION).join(format!("{CAMPAIGN}={campaign}")).join(format!("date={date}"))
}

/// The name of a run's file.
pub fn file_name(run_id: &str) -> String {
    format!("{run_id}.{ENDING}")
}

/// The day of a moment, UTC: `2026-11-25`.
pub fn date(unix_s: u64) -> String {
    // humantime panics beyond the year 9999.
    const LAST: u64 = 253_402_300_799;
    let time = UNIX_EPOCH + Duration::from_secs(unix_s.min(LAST));
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
}

/// A data file, with its partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct DataFile {
    /// Its day.
    pub date: String,
    /// Its campaign.
    pub campaign: String,
    /// The file.
    pub path: PathBuf,
}

/// The data files of a table, by day. A table without a file has no folder.
///
/// # Errors
/// A folder cannot be read.
pub fn files(dataset: &Path, table: &str) -> Result<Vec<DataFile>> {
    let mut files = Vec::new();
    for (campaign, date, folder) in partitions(dataset, table)? {
        for (name, path) in entries(&folder)? {
            if !name.starts_with(['.', '_']) && path.extension().is_some_and(|ending| ending == ENDING) {
                files.push(DataFile { date: date.clone(), campaign: campaign.clone(), path });
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The partitions of a table: campaign, day and folder.
fn partitions(dataset: &Path, table: &str) -> Result<Vec<(String, String, PathBuf)>> {
    let mut partitions = Vec::new();
    for (campaign, folder) in keyed(&dataset.join(table).join(VERSION), CAMPAIGN)? {
        for (date, folder) in keyed(&folder, "date")? {
            partitions.push((campaign.clone(), date, folder));
        }
    }
    Ok(partitions)
}

/// The campaigns that a table has files of.
pub(crate) fn campaigns(dataset: &Path, table: &str) -> Result<Vec<String>> {
    let campaigns = keyed(&dataset.join(table).join(VERSION), CAMPAIGN)?;
    Ok(campaigns.into_iter().map(|(campaign, _)| campaign).collect())
}

/// The folders `KEY=VALUE` in a folder, with their values.
fn keyed(folder: &Path, key: &str) -> Result<Vec<(String, PathBuf)>> {
    let value = |(name, path): (String, PathBuf)| {
        Some((name.strip_prefix(key)?.strip_prefix('=')?.to_string(), path))
    };
    Ok(entries(folder)?.into_iter().filter_map(value).collect())
}

/// What is in a folder, by name; nothing in one that does not exist, or that is a file.
fn entries(folder: &Path) -> Result<Vec<(String, PathBuf)>> {
    let unreadable = |source| DatasetError::Unreadable(folder.into(), source);
    let found = match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => return Ok(Vec::new()),
        found => found.map_err(unreadable)?,
    };
    let mut entries = Vec::new();
    for entry in found {
        let entry = entry.map_err(unreadable)?;
        entries.push((entry.file_name().to_string_lossy().into_owned(), entry.path()));
    }
    entries.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(texts: &[&str]) -> Result<Labels> {
        Labels::parse(&texts.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn the_campaign_is_a_partition_and_other_labels_are_a_column() {
        let found = labels(&["campaign=2026w47", "site=A=B"]).unwrap();
        assert_eq!((found.campaign.as_str(), found.others["site"].as_str()), ("2026w47", "A=B"));
        assert_eq!(labels(&[]).unwrap().campaign, "none");
        for wrong in
            [&["campaign=../x"][..], &["campaign="], &["campaign=.x"], &["site"], &["=x"], &["a=1", "a=2"]]
        {
            let text = labels(wrong).unwrap_err().to_string();
            assert!(text.starts_with("--label "), "{text}");
        }
    }

    #[test]
    fn days_are_those_of_utc() {
        assert_eq!((date(0).as_str(), date(1_700_000_000).as_str()), ("1970-01-01", "2023-11-14"));
        assert_eq!(date(u64::MAX), "9999-12-31");
    }
}
