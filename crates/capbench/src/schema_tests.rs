//! The schemas of what commands print as JSON: `docs/send.schema.json` and its kind.
//!
//! `CAPBENCH_WRITE_SCHEMA=1 cargo test -p capbench --lib schemas_are` writes them anew when a type has changed.

use capbench_record::recording::document as record;
use capbench_testing::schema::{self, ABSENT, LATER};
use serde_json::Value;

use crate::commands::config;
use crate::commands::count::documents as count;
use crate::commands::methods::document as methods;
use crate::commands::send::document as send;
use crate::commands::verify::document as verify;

/// The files, and the schema of each.
fn schemas() -> [(&'static str, Value); 8] {
    let says = |what: &str| format!("{what} {ABSENT} {LATER}");
    [
        (
            "send",
            schema::of::<send::Document>(
                "capbench send --json",
                &says("What was sent, when it ended."),
                send::SCHEMA_VERSION,
            ),
        ),
        (
            "count",
            schema::of::<count::Document>(
                "A line of capbench count --json",
                &says("A line per second, and the totals as the last line."),
                count::SCHEMA_VERSION,
            ),
        ),
        (
            "record",
            schema::of::<record::Document>(
                "capbench record --json",
                &says("The account of a recording, when it ended."),
                record::SCHEMA_VERSION,
            ),
        ),
        (
            "verify",
            schema::of::<verify::Document>(
                "capbench verify --json",
                &says("The frames of `capbench send` that were found in capture files."),
                verify::SCHEMA_VERSION,
            ),
        ),
        (
            "methods",
            schema::of::<methods::Document<'_>>(
                "capbench methods --json",
                &says("The capture methods and the ways to transmit."),
                methods::SCHEMA_VERSION,
            ),
        ),
        (
            "config",
            schema::of::<config::Document>(
                "capbench config show --json",
                &says("What is set by files and variables, and the defaults of the command that was named."),
                config::SCHEMA_VERSION,
            ),
        ),
        (
            "tune",
            schema::of::<capbench_tune::Check>(
                "capbench tune check --json",
                &says("How the settings of an interface and its host stand towards capture."),
                capbench_tune::SCHEMA_VERSION,
            ),
        ),
        (
            "why",
            schema::of::<capbench_why::Look>(
                "capbench why --json",
                &says(
                    "What an interface received and lost in an interval. Counts are of the interval unless they say otherwise.",
                ),
                capbench_why::SCHEMA_VERSION,
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
