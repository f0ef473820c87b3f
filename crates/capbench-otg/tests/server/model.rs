//! Holds answers and configurations against the model: `openapi.json` has its requests, and what each answers.

use std::cell::RefCell;
use std::collections::HashMap;

use boon::{Compiler, SchemaIndex, Schemas};
use capbench_testing::http::Answer;
use serde_json::{Map, Value};

const URL: &str = "http://localhost/openapi.json";

/// What every refusal is, also that of a request that the model does not have.
const REFUSAL: &str = "/components/schemas/Error";

struct Model {
    document: Value,
    compiler: Compiler,
    schemas: Schemas,
    /// Compiled schemas by their places in the document.
    compiled: HashMap<String, SchemaIndex>,
}

thread_local! {
    static MODEL: RefCell<Model> = RefCell::new(Model::read());
}

/// Holds an answer against the model.
///
/// # Panics
/// It is none of the model.
pub fn assert_answer(method: &str, path: &str, answer: &Answer) {
    let kind = answer.header("content-type").unwrap_or_default();
    let place = MODEL.with_borrow(|model| model.place(method, path, answer.status, kind));
    if kind != "application/json" {
        return;
    }
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_else(|error| panic!("{path}: {error}"));
    let validated = MODEL.with_borrow_mut(|model| model.validate(&place, &body));
    validated.unwrap_or_else(|error| panic!("{body}: {error}"));
    if !(200..300).contains(&answer.status) {
        assert_eq!(body["code"], answer.status, "{method} {path}: {body}");
    }
}

/// Whether a client that sends this has written it as the model has it. Clients write numbers of 64 bits, which only rates are,
/// as text, and absent members as null.
pub fn is_request(schema: &str, body: &Value) -> bool {
    let mut body = body.clone();
    normalise(&mut body);
    MODEL.with_borrow_mut(|model| model.validate(&format!("/components/schemas/{schema}"), &body).is_ok())
}

fn normalise(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !member.is_null());
            members.values_mut().for_each(normalise);
            for text in
                members.get_mut("rate").and_then(Value::as_object_mut).into_iter().flat_map(Map::values_mut)
            {
                if let Some(number) = text.as_str().and_then(|text| text.parse::<u64>().ok()) {
                    *text = number.into();
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(normalise),
        _ => {}
    }
}

impl Model {
    fn read() -> Self {
        let document: Value = serde_json::from_str(include_str!("openapi.json")).unwrap();
        let mut compiler = Compiler::new();
        compiler.add_resource(URL, document.clone()).unwrap();
        Self { document, compiler, schemas: Schemas::new(), compiled: HashMap::new() }
    }

    /// The place of the schema of an answer.
    fn place(&self, method: &str, path: &str, status: u16, kind: &str) -> String {
        let escaped = |text: &str| text.replace('/', "~1");
        let responses = format!("/paths/{}/{}/responses", escaped(path), method.to_ascii_lowercase());
        let Some(known) = self.document.pointer(&responses) else { return REFUSAL.into() };
        let code = status.to_string();
        let code = if known.get(&code).is_some() { &code } else { "default" };
        let content = format!("{responses}/{code}/content/{}", escaped(kind));
        assert!(self.document.pointer(&content).is_some(), "{method} {path}: {status} with {kind:?}");
        format!("{content}/schema")
    }

    fn validate(&mut self, place: &str, body: &Value) -> Result<(), String> {
        let Self { compiler, schemas, compiled, .. } = self;
        let schema = *compiled
            .entry(place.into())
            .or_insert_with(|| compiler.compile(&format!("{URL}#{place}"), schemas).unwrap());
        schemas.validate(body, schema).map_err(|error| format!("{place}: {error}"))
    }
}
