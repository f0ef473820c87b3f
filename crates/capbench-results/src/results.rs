//! What a run saves: `results.json` as types.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use capbench_judge::command_line::CommandLine;
use capbench_judge::comparison::Comparison;
use capbench_judge::finding::whole_run::WholeRun;
use capbench_judge::finding::{Finding as Fact, Subject};
use capbench_judge::recommendation::Recommendation;
use capbench_judge::reproduction::Reproduction;
use capbench_judge::rfc2544::Tested;
use capbench_judge::run::{Kind, RunFacts};
use capbench_judge::search::SearchOutcome;
use capbench_judge::soak::record::SoakRecord;
use capbench_judge::sweep::SweepOutcome;
use capbench_model::bounded_json::{self, Budget};
use capbench_model::environment::Environment;
use capbench_model::not_measured::NotMeasured;
use capbench_model::statement::Statement;
use capbench_model::trial::TrialResult;

/// Version of the layout of `results.json`. It rises when a reader of older files would misunderstand newer ones.
pub const SCHEMA_VERSION: u32 = 1;

/// All data that a run saves. Reports use this data only.
#[derive(Clone, Debug, Default, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Results {
    /// [`SCHEMA_VERSION`] of the writer.
    pub schema_version: u32,
    /// What the run measured; absent in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// The command, word by word.
    pub command: Vec<String>,
    /// When the run started, seconds since the epoch.
    pub started_unix_s: u64,
    /// Identifies the run: a UUID of version 7. Absent in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Identifies the host of `environment`: a keyed hash of its machine-id(5). Absent if it has none, or as `run_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
    /// Whether the run completed.
    pub complete: bool,
    /// The exit code that follows from the results, once the run ended; 128 + N when signal N stopped it. Absent while it runs,
    /// for a run that was killed, and for runs of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<u8>,
    /// The host.
    pub environment: Environment,
    /// Statements of the run about itself: how the test bed was made, and which durations are shorter than the standards
    /// require. In words, for readers of the file: the report makes them when the run is saved.
    pub statements: Vec<String>,
    /// The same as facts. Absent in files of versions that did not write them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statement_facts: Vec<Statement>,
    /// The trials, in the order in which they ran.
    pub trials: Vec<TrialResult>,
    /// The record of a soak, instead of trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<SoakRecord>,
    /// One sweep per varied parameter. Their trials are in `trials`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<SweepOutcome>,
    /// Set-ups that the user requested and that could not be measured.
    #[serde(default)]
    pub not_measured: Vec<NotMeasured>,
    /// Outcomes of searches. Their trials are in `trials`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub searches: Vec<SearchOutcome>,
    /// Outcomes of RFC 2544 tests other than throughput. Their trials are in `trials`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rfc2544: Vec<Tested>,
    /// Comparisons of methods with the reference method that alternated with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Comparison>,
    /// Repeated experiments of publications, with the published tables next to the measured ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reproductions: Vec<Reproduction>,
    /// Which method to use, by the trials and searches of a bench. Absent for other runs, for benches of earlier versions, and for
    /// a bench whose trials show nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recommended: Option<Recommendation>,
    /// What answers the question of the run, the verdict first. Absent in files of versions that did not write it.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Finding>,
    /// Findings from these results.
    #[serde(skip_deserializing)]
    pub findings: Vec<Finding>,
    /// How noisy the run is, and what could not be measured. Absent in files of versions that did not write it.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Finding>,
}

impl Results {
    /// The command of the run, if its command line names one.
    pub fn command_word(&self) -> Option<&str> {
        CommandLine(&self.command).command()
    }

    /// The run as judgement needs it.
    pub fn whole_run(&self) -> WholeRun<'_> {
        WholeRun {
            kind: self.kind(),
            facts: self.facts(),
            rfc2544: &self.rfc2544,
            comparisons: &self.comparisons,
            reproductions: &self.reproductions,
            not_measured: &self.not_measured,
            recommended: self.recommended.as_ref(),
        }
    }

    /// Adds the facts that a file of an earlier version states as texts.
    fn add_facts_of_texts(&mut self) {
        if self.statement_facts.is_empty() {
            self.statement_facts = self.statements.iter().map(|text| Statement::from_earlier(text)).collect();
        }
        if let Some(record) = &mut self.soak {
            record.add_facts_of_texts();
        }
    }

    /// The facts that judgement needs.
    pub fn facts(&self) -> RunFacts<'_> {
        RunFacts {
            file_warnings: &[],
            command: CommandLine(&self.command),
            started_unix_s: self.started_unix_s,
            complete: self.complete,
            environment: &self.environment,
            statements: &self.statement_facts,
            trials: &self.trials,
            searches: &self.searches,
            sweeps: &self.sweeps,
            soak: self.soak.as_ref(),
        }
    }
}

/// A sentence and its evidence. A reader of capbench skips it, and judges the measurements again.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// What it concerns, if not the whole run: frame size and placement, placement and load, or a publication.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<String>,
    /// The same as data. Absent in files of versions that did not write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Subject>,
    /// The sentence.
    pub text: String,
    /// What it says, as data. Absent in files of versions that did not write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fact: Option<Fact>,
    /// Numbers of the trials that support it.
    pub trials: Vec<u32>,
}

/// Most memory that results may take, as a multiple of the length of their text. Results of capbench take less; a file made to
/// exhaust memory takes more.
const MEMORY: usize = 12;

/// The memory that reading this text may take.
pub(crate) fn memory(text: &[u8]) -> Budget {
    Budget::times(MEMORY, text)
}

/// Reads results.
pub(crate) fn results_of(text: &[u8]) -> serde_json::Result<Results> {
    let mut results: Results = within_memory(text)?;
    results.add_facts_of_texts();
    Ok(results)
}

/// Reads a text, unless it takes more memory than results of its length do.
pub(crate) fn within_memory<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    bounded_json::within(text, &memory(text))
}
