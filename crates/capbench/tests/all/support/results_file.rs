//! Documents of tests, held against their schemas in `docs`.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::OnceLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// A schema, by its name and its text.
struct Schema {
    name: &'static str,
    text: &'static str,
    compiled: OnceLock<(Schemas, SchemaIndex)>,
}

static RESULTS: Schema =
    Schema::new("results.schema.json", include_str!("../../../../../docs/results.schema.json"));
static REPORT: Schema =
    Schema::new("report.schema.json", include_str!("../../../../../docs/report.schema.json"));
static COMPARE: Schema =
    Schema::new("compare.schema.json", include_str!("../../../../../docs/compare.schema.json"));
static CONFIG: Schema =
    Schema::new("config.schema.json", include_str!("../../../../../docs/config.schema.json"));
static COUNT: Schema =
    Schema::new("count.schema.json", include_str!("../../../../../docs/count.schema.json"));
static RECORD: Schema =
    Schema::new("record.schema.json", include_str!("../../../../../docs/record.schema.json"));
static METHODS: Schema =
    Schema::new("methods.schema.json", include_str!("../../../../../docs/methods.schema.json"));
static SEND: Schema = Schema::new("send.schema.json", include_str!("../../../../../docs/send.schema.json"));
static TUNE: Schema = Schema::new("tune.schema.json", include_str!("../../../../../docs/tune.schema.json"));
static VERIFY: Schema =
    Schema::new("verify.schema.json", include_str!("../../../../../docs/verify.schema.json"));
static WHY: Schema = Schema::new("why.schema.json", include_str!("../../../../../docs/why.schema.json"));

impl Schema {
    const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text, compiled: OnceLock::new() }
    }

    fn compiled(&self) -> &(Schemas, SchemaIndex) {
        self.compiled.get_or_init(|| {
            // What it is called here; nothing is fetched.
            let name = format!("https://capbench.invalid/{}", self.name);
            let schema: Value = serde_json::from_str(self.text).expect("the schema is JSON");
            let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
            compiler.add_resource(&name, schema).expect("it can be named");
            // Also compares it with the schema of schemas.
            let index = compiler.compile(&name, &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
            (schemas, index)
        })
    }

    fn assert_valid(&self, value: &Value) {
        let (schemas, index) = self.compiled();
        if let Err(faults) = schemas.validate(value, *index) {
            panic!("it is not as docs/{} says: {faults:#}", self.name);
        }
    }
}

/// Looks that what a run saved is what the schema says.
///
/// # Panics
/// Where it is not, with the faults and where they are.
pub fn assert_valid(results: &Value) {
    RESULTS.assert_valid(results);
}

/// Looks that a report as data is what the schema says.
///
/// # Panics
/// Where it is not, with the faults and where they are.
pub fn assert_valid_report(report: &Value) {
    REPORT.assert_valid(report);
}

/// Looks that what a command printed with `--json` is what its schema says.
///
/// # Panics
/// Where it is not, with the faults and where they are; where the command has no schema.
pub fn assert_valid_output(command: &str, document: &Value) {
    let schema = match command {
        "compare" => &COMPARE,
        "config" => &CONFIG,
        "count" => &COUNT,
        "methods" => &METHODS,
        "record" => &RECORD,
        "send" => &SEND,
        "tune" => &TUNE,
        "verify" => &VERIFY,
        "why" => &WHY,
        other => panic!("{other} has no schema here"),
    };
    schema.assert_valid(document);
}
