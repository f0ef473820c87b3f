//! Results files of tests, held against `docs/results.schema.json`.

use std::sync::OnceLock;

use boon::{Compiler, SchemaIndex, Schemas};
use serde_json::Value;

/// What the schema is called here; nothing is fetched.
const NAME: &str = "https://capbench.invalid/results.schema.json";

fn schema() -> &'static (Schemas, SchemaIndex) {
    static SCHEMA: OnceLock<(Schemas, SchemaIndex)> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let text = include_str!("../../../../docs/results.schema.json");
        let schema: Value = serde_json::from_str(text).expect("the schema is JSON");
        let (mut compiler, mut schemas) = (Compiler::new(), Schemas::new());
        compiler.add_resource(NAME, schema).expect("it can be named");
        // Also compares it with the schema of schemas.
        let index = compiler.compile(NAME, &mut schemas).unwrap_or_else(|error| panic!("{error:#}"));
        (schemas, index)
    })
}

/// Looks that what a run saved is what the schema says.
///
/// # Panics
/// Where it is not, with the faults and where they are.
pub fn assert_valid(results: &Value) {
    let (schemas, index) = schema();
    if let Err(faults) = schemas.validate(results, *index) {
        panic!("results.json is not as docs/results.schema.json says: {faults:#}");
    }
}
