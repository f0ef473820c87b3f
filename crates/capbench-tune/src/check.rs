//! The items together: a document, its verdict and its text.

use capbench_model::trial::TrialResult;
use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::Facts;
use crate::figures::{self, Figure};
use crate::items::{Finding, ItemName, QueueWords, Stands};
use crate::setting::{Proposal, Setting};

/// The version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// How the settings of an interface and its host stand towards capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Check {
    /// The version of this document.
    pub schema_version: u32,
    /// The interface.
    pub interface: String,
    /// The run whose facts these are, as the user named it. Absent: those of this host now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// One sentence: how many settings stand against capture, and which.
    pub verdict: String,
    /// Every item.
    pub items: Vec<Item>,
}

/// How one item stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Item {
    /// Its name, as in `--only`.
    pub item: ItemName,
    /// How it stands.
    pub stands: Stands,
    /// What is.
    pub is: String,
    /// What would be better for capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub better: Option<String>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
    /// What it costs, where capbench measured it; of a run, what it cost in its trials. Absent: not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Figure>,
    /// The commands that change it, in order. Empty where nothing is to be changed, or only by hand.
    pub commands: Vec<String>,
}

impl Check {
    /// The document of these findings on this host.
    pub fn new(facts: &Facts, findings: &[Finding], queue_words: QueueWords) -> Self {
        Self::with(facts, findings, queue_words, None, &figures::of)
    }

    /// The document of these findings about a run, with its trials on this interface.
    pub fn of_run(
        facts: &Facts,
        findings: &[Finding],
        queue_words: QueueWords,
        run: &str,
        trials: &[&TrialResult],
    ) -> Self {
        Self::with(facts, findings, queue_words, Some(run), &|item| figures::in_run(item, trials))
    }

    fn with(
        facts: &Facts,
        findings: &[Finding],
        queue_words: QueueWords,
        run: Option<&str>,
        cost: &dyn Fn(ItemName) -> Option<Figure>,
    ) -> Self {
        let item = |finding: &Finding| {
            let judgement = &finding.judgement;
            Item {
                item: finding.item,
                stands: judgement.stands,
                is: judgement.is.words(queue_words),
                better: judgement.better.clone(),
                why: Some(judgement.why).filter(|why| !why.is_empty()),
                cost: cost(finding.item).filter(|_| judgement.stands == Stands::Against),
                commands: commands(facts, &judgement.proposals),
            }
        };
        let items: Vec<Item> = findings.iter().map(item).collect();
        let named = |stands| -> Vec<&str> {
            items.iter().filter(|item| item.stands == stands).map(|item| item.item.key()).collect()
        };
        let (against, unknown) = (named(Stands::Against), named(Stands::Unknown));
        let interface = &facts.interface;
        let ([one, several], place) = match run {
            None => (["stands", "stand"], interface.clone()),
            Some(run) => (["stood", "stood"], format!("{interface} in {run}")),
        };
        let known = match against.len() {
            0 if unknown.is_empty() => format!("Nothing {one} against capture on {place}"),
            0 => format!("Nothing known {one} against capture on {place}"),
            1 => format!("1 setting {one} against capture on {place}: {}", against[0]),
            count => format!("{count} settings {several} against capture on {place}: {}", against.join(", ")),
        };
        let verdict = match unknown.is_empty() {
            true => known,
            false => format!("{known}; {}: {}", unknown_heading(run).to_lowercase(), unknown.join(", ")),
        };
        let (interface, run) = (interface.clone(), run.map(str::to_owned));
        Self { schema_version: SCHEMA_VERSION, interface, run, verdict, items }
    }

    /// Whether a setting stands against capture.
    pub fn is_against(&self) -> bool {
        self.items.iter().any(|item| item.stands == Stands::Against)
    }

    /// The text for a terminal.
    pub fn text(&self) -> String {
        let mut text = format!("{}\n", self.verdict);
        for (stands, heading) in [(Stands::Against, "Against capture"), (Stands::Note, "To know")] {
            let items: Vec<&Item> = self.items.iter().filter(|item| item.stands == stands).collect();
            if !items.is_empty() {
                text += &format!("\n{heading}:\n");
                text.extend(items.into_iter().map(long));
            }
        }
        let unknown = unknown_heading(self.run.as_deref());
        for (stands, heading) in
            [(Stands::Unknown, unknown), (Stands::Fine, "Fine"), (Stands::Absent, "Not here")]
        {
            let items: Vec<&Item> = self.items.iter().filter(|item| item.stands == stands).collect();
            if !items.is_empty() {
                text += &format!("\n{heading}:\n");
                text.extend(items.into_iter().map(|item| format!("  {:<11} {}\n", item.item, item.is)));
            }
        }
        if self.items.iter().any(|item| !item.commands.is_empty()) {
            text += &format!(
                "\n`capbench tune plan -i {0}` prints the commands, `apply` makes the changes.\n",
                self.interface
            );
        }
        text
    }

    /// The commands of all items, in the order in which `apply` makes the changes.
    pub fn plan(facts: &Facts, findings: &[Finding]) -> String {
        let mut all: Vec<Proposal> =
            findings.iter().flat_map(|finding| finding.judgement.proposals.iter().cloned()).collect();
        all.sort_by(|one, other| one.setting.cmp(&other.setting));
        let interface = &facts.interface;
        if all.is_empty() {
            return format!("Nothing to change on {interface}\n");
        }
        let has_reset = all.iter().any(|proposal| proposal.setting.resets_others());
        let lines: String = commands(facts, &all).iter().map(|line| format!("{line}\n")).collect();
        let note = "# A change of queues or rings can renumber interrupts and reset what follows: `apply` looks again then.\n";
        if has_reset { format!("{lines}{note}") } else { lines }
    }
}

/// How items are called of which nobody knows how they stand.
fn unknown_heading(run: Option<&str>) -> &'static str {
    if run.is_some() { "Not recorded" } else { "Unknown" }
}

/// The lines of an item that is explained.
fn long(item: &Item) -> String {
    let cost = match (&item.cost, item.stands) {
        (Some(cost), _) => Some(format!("{} ({})", cost.figure, cost.source)),
        (None, Stands::Against) => Some("not measured".into()),
        (None, _) => None,
    };
    let rows = [("better", item.better.clone()), ("why", item.why.map(str::to_owned)), ("cost", cost)];
    let rows = rows.into_iter().filter_map(|(name, words)| Some(format!("{:14}{name:<7} {}\n", "", words?)));
    format!("  {:<11} {}\n{}", item.item, item.is, rows.collect::<String>())
}

fn commands(facts: &Facts, proposals: &[Proposal]) -> Vec<String> {
    let number = |setting: &Setting| match setting {
        Setting::Interrupt(name) => {
            let all = facts.card.interrupts.iter().flatten();
            all.filter(|one| one.name.as_ref() == Some(name)).map(|one| one.number).next()
        }
        _ => None,
    };
    let command = |proposal: &Proposal| {
        let before = facts.settings.get(&proposal.setting).map_or("", String::as_str);
        proposal.setting.command(&facts.interface, before, &proposal.value, number(&proposal.setting))
    };
    proposals.iter().map(command).collect()
}
