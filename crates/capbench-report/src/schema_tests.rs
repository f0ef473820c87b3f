//! `docs/results.schema.json`, `docs/compare.schema.json` and `docs/report.schema.json` are the schemas of the types that are
//! saved, printed and written. Tests of runs, comparisons and reports hold their files against them.
//!
//! `CAPBENCH_WRITE_SCHEMA=1 cargo test -p capbench-report --lib schemas_are` writes them anew when a type has changed.

use capbench_testing::schema::{self, ABSENT, LATER};
use serde_json::Value;

use crate::compare;
use crate::formats::json;
use capbench_results::{Results, SCHEMA_VERSION};

/// A member that had another name in earlier versions.
struct EarlierName {
    /// The type in the schema.
    definition: &'static str,
    member: &'static str,
    earlier: &'static str,
}

const EARLIER_NAMES: [EarlierName; 1] = [EarlierName {
    definition: "BackToBack",
    member: "drain_corrected_buffer_s",
    earlier: "corrected_buffer_s",
}];

/// The files, and the schema of each.
fn schemas() -> [(&'static str, Value); 3] {
    let report = "What a report says, before it has a format: sentences, tables and charts, made of the results of a run. Trials \
                  are named by the `number` that they have in results.json. Numbers of a column are in its `unit`, shares as \
                  parts of 1.";
    let mut saved = schema::of::<Results>(
        "results.json of capbench",
        &format!("What a run saves. {ABSENT} {LATER}"),
        SCHEMA_VERSION,
    );
    for EarlierName { definition, member, earlier } in EARLIER_NAMES {
        schema::add_earlier_name(&mut saved, definition, member, earlier);
    }
    // capbench always writes it. It does not read it, which schemars takes for optional.
    saved["required"].as_array_mut().unwrap().push("findings".into());
    [
        ("results", saved),
        (
            "compare",
            schema::of::<compare::Document>(
                "capbench compare --json",
                &format!("Two saved runs, compared. {ABSENT} {LATER}"),
                compare::SCHEMA_VERSION,
            ),
        ),
        (
            "report",
            schema::of::<json::Document<'_>>(
                "report.json of capbench",
                &format!("{report} {LATER}"),
                json::SCHEMA_VERSION,
            ),
        ),
    ]
}

#[test]
fn the_schemas_are_those_of_the_types() {
    schema::assert_are_files(&schemas());
}

#[test]
fn every_object_is_closed_and_every_member_described() {
    schema::assert_are_complete(&schemas());
}
