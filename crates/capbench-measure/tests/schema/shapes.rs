//! JSON Schema (draft 2020-12) of what serde writes. Members that are always written are required, but for those that earlier
//! versions did not have. Nothing that is not written is allowed.

use std::collections::{BTreeMap, BTreeSet};

use capbench_measure::compare;
use capbench_measure::results::SCHEMA_VERSION;
use serde_json::{Map, Value, json};
use syn::{Fields, GenericArgument, PathArguments, Variant};

use super::attributes::{Serde, description, renamed};
use super::source::{Definition, Source};

/// What functions named by `with` write.
const WITH: [(&str, &str); 3] = [
    ("seconds", "number"),
    ("seconds::optional", "number or null"),
    ("crate::accounts::cpu::cpu_number", "integer"),
];

/// The schema of a results file.
pub fn schema_of_results(source: &Source) -> Value {
    let mut schema = schema_of(source, &["capbench_measure", "results"], "Results");
    schema["title"] = "results.json of capbench".into();
    schema["description"] = format!("What a run saves. {ABSENT} {LATER}").into();
    schema["properties"]["schema_version"]["const"] = SCHEMA_VERSION.into();
    schema
}

/// The schema of what `compare --json` prints.
pub fn schema_of_comparisons(source: &Source) -> Value {
    let mut schema = schema_of(source, &["capbench_measure", "compare"], "Document");
    schema["title"] = "capbench compare --json".into();
    schema["description"] = format!("Two saved runs, compared. {ABSENT} {LATER}").into();
    schema["properties"]["schema_version"]["const"] = compare::SCHEMA_VERSION.into();
    schema
}

/// The schema of a report as data.
pub fn schema_of_reports(source: &Source) -> Value {
    let module = ["capbench_report", "formats", "json"];
    let mut schema = schema_of(source, &module, "Document");
    schema["title"] = "report.json of capbench".into();
    schema["description"] = format!(
        "What a report says, before it has a format: sentences, tables and charts, made of the results of a run. Trials are \
         named by the `number` that they have in results.json. Numbers of a column are in its `unit`, shares as parts of 1. {LATER}"
    )
    .into();
    schema["properties"]["schema_version"]["const"] = source.schema_version(&module).into();
    schema
}

const ABSENT: &str = "Null, or absent where that is allowed, is what nothing here can tell; it is not 0. Units stand in the \
                      names of members, or in their descriptions.";
const LATER: &str = "`schema_version` is raised when a reader of older files would misunderstand newer ones; a later version \
                     of capbench can add members without that, and brings a schema of its own.";

fn schema_of(source: &Source, module: &[&str], name: &str) -> Value {
    let mut shapes = Shapes { source, names: BTreeMap::new(), definitions: BTreeMap::new() };
    let module: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
    let found = source.find(&module, &[name.to_owned()]).expect("it is written");
    let mut schema = shapes.definition(found);
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema".into();
    schema["$defs"] = shapes.definitions.into_iter().collect::<Map<_, _>>().into();
    schema
}

struct Shapes<'s> {
    source: &'s Source,
    /// What the types are called that have been met.
    names: BTreeMap<usize, String>,
    definitions: BTreeMap<String, Value>,
}

/// An object with its members.
#[derive(Clone, Default)]
struct Object {
    properties: Map<String, Value>,
    required: BTreeSet<String>,
}

impl Object {
    fn schema(self) -> Value {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": self.properties,
            "required": self.required,
        })
    }

    fn with(mut self, other: &Self) -> Self {
        self.properties.extend(other.properties.clone());
        self.required.extend(other.required.clone());
        self
    }
}

fn one_of(mut schemas: Vec<Value>) -> Value {
    match schemas.len() {
        1 => schemas.remove(0),
        _ => json!({ "oneOf": schemas }),
    }
}

fn described(mut schema: Value, text: &str) -> Value {
    if !text.is_empty() {
        schema["description"] = text.into();
    }
    schema
}

fn or_null(schema: Value) -> Value {
    match schema.get("type") {
        Some(Value::String(kind)) => {
            let kinds = json!([kind, "null"]);
            let mut schema = schema;
            schema["type"] = kinds;
            schema
        }
        _ => json!({ "anyOf": [schema, { "type": "null" }] }),
    }
}

impl Shapes<'_> {
    /// A reference to a type, whose schema is made where it is met for the first time.
    fn reference(&mut self, index: usize) -> Value {
        if !self.names.contains_key(&index) {
            let found = self.source.get(index);
            let is_taken = |name: &String| self.names.values().any(|other| other == name);
            let mut name = found.name.clone();
            for module in found.module.iter().rev() {
                if !is_taken(&name) {
                    break;
                }
                name = format!("{module}.{name}");
            }
            self.names.insert(index, name.clone());
            let schema = self.definition(index);
            self.definitions.insert(name, schema);
        }
        json!({ "$ref": format!("#/$defs/{}", self.names[&index]) })
    }

    fn definition(&mut self, index: usize) -> Value {
        let source = self.source;
        let found = source.get(index);
        let (attributes, module) = match &found.item {
            Definition::Struct(item) => (&item.attrs, &found.module),
            Definition::Enum(item) => (&item.attrs, &found.module),
        };
        let serde = Serde::of(attributes);
        let schema = match (&serde.into, &found.item) {
            (Some(into), _) => self.of_type(&syn::parse_str(into).unwrap(), module),
            (None, Definition::Struct(item)) => self.of_struct(&item.fields, &serde, module),
            (None, Definition::Enum(item)) => {
                let variants = item.variants.iter().map(|variant| self.of_variant(variant, &serde, module));
                one_of(variants.collect())
            }
        };
        described(schema, &description(attributes))
    }

    fn of_struct(&mut self, fields: &Fields, serde: &Serde, module: &[String]) -> Value {
        match fields {
            Fields::Named(_) => {
                let objects = self.objects(fields, serde, module);
                one_of(objects.into_iter().map(Object::schema).collect())
            }
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
                self.of_type(&fields.unnamed[0].ty, module)
            }
            Fields::Unnamed(_) | Fields::Unit => {
                panic!("how is such a structure written? The schema has to know")
            }
        }
    }

    /// The objects that members make: one, or where a member's own variants stand in its place one for each of these.
    fn objects(&mut self, fields: &Fields, serde: &Serde, module: &[String]) -> Vec<Object> {
        let mut objects = vec![Object::default()];
        for field in fields {
            let own = Serde::of(&field.attrs);
            if own.skip {
                continue;
            }
            if own.flatten {
                let inner = self.objects_of(&field.ty, module);
                objects = objects
                    .iter()
                    .flat_map(|object| {
                        inner.iter().map(|inner| object.clone().with(inner)).collect::<Vec<_>>()
                    })
                    .collect();
                continue;
            }
            let ident = field.ident.as_ref().expect("a member has a name").to_string();
            let name = own.rename.clone().unwrap_or_else(|| renamed(&ident, serde.rename_all.as_deref()));
            let schema = self.of_field(&field.ty, &own, module);
            let text = description(&field.attrs);
            let is_required =
                own.skip_serializing_if.is_none() && !own.default && !serde.default && own.aliases.is_empty();
            for object in &mut objects {
                for alias in &own.aliases {
                    let mut early =
                        described(schema.clone(), &format!("What early versions called `{name}`."));
                    early["deprecated"] = true.into();
                    object.properties.insert(alias.clone(), early);
                }
                object.properties.insert(name.clone(), described(schema.clone(), &text));
                if is_required {
                    object.required.insert(name.clone());
                }
            }
        }
        objects
    }

    /// The objects that a type is written as whose members stand in another's place.
    fn objects_of(&mut self, kind: &syn::Type, module: &[String]) -> Vec<Object> {
        let index = path_of(kind).and_then(|path| self.source.find(module, &path));
        let source = self.source;
        let found = source.get(index.expect("only types of the workspace are flattened"));
        match &found.item {
            Definition::Struct(item) => self.objects(&item.fields, &Serde::of(&item.attrs), &found.module),
            Definition::Enum(item) => {
                let serde = Serde::of(&item.attrs);
                assert!(serde.tag.is_some(), "only variants that are named by a member are flattened");
                let variants = item.variants.iter();
                variants.flat_map(|variant| self.tagged(variant, &serde, &found.module)).collect()
            }
        }
    }

    fn of_field(&mut self, kind: &syn::Type, serde: &Serde, module: &[String]) -> Value {
        if let Some(with) = &serde.with {
            let (_, written) = WITH
                .iter()
                .find(|(name, _)| name == with)
                .unwrap_or_else(|| panic!("what does {with} write? The schema has to know"));
            return match *written {
                "number or null" if serde.skip_serializing_if.is_none() => {
                    json!({ "type": ["number", "null"] })
                }
                "number or null" => json!({ "type": "number" }),
                other => json!({ "type": other }),
            };
        }
        match (serde.skip_serializing_if.as_deref(), inner(kind, "Option")) {
            // What is left out where there is nothing is never null.
            (Some("Option::is_none"), Some(inner)) => self.of_type(inner, module),
            _ => self.of_type(kind, module),
        }
    }

    fn of_variant(&mut self, variant: &Variant, serde: &Serde, module: &[String]) -> Value {
        let text = description(&variant.attrs);
        if serde.tag.is_some() {
            let objects = self.tagged(variant, serde, module).into_iter().map(Object::schema);
            return described(one_of(objects.collect()), &text);
        }
        let name = name_of(variant, serde);
        let content = match &variant.fields {
            Fields::Unit if serde.untagged => json!({ "type": "null" }),
            Fields::Unit => return described(json!({ "const": name }), &text),
            fields => self.of_struct(fields, &Serde::default(), module),
        };
        if serde.untagged {
            return described(content, &text);
        }
        let mut object = Object::default();
        object.properties.insert(name.clone(), described(content, &text));
        object.required.insert(name);
        described(object.schema(), &text)
    }

    /// A variant whose name stands in a member among its own.
    fn tagged(&mut self, variant: &Variant, serde: &Serde, module: &[String]) -> Vec<Object> {
        let tag = serde.tag.clone().expect("the caller looked");
        let mut object = Object::default();
        let text = description(&variant.attrs);
        object.properties.insert(tag.clone(), described(json!({ "const": name_of(variant, serde) }), &text));
        object.required.insert(tag);
        let objects = match &variant.fields {
            Fields::Unit => vec![Object::default()],
            Fields::Unnamed(fields) => self.objects_of(&fields.unnamed[0].ty, module),
            fields => self.objects(fields, &Serde::default(), module),
        };
        objects.iter().map(|inner| object.clone().with(inner)).collect()
    }

    fn of_type(&mut self, kind: &syn::Type, module: &[String]) -> Value {
        if let syn::Type::Array(array) = kind {
            return json!({ "type": "array", "items": self.of_type(&array.elem, module) });
        }
        let path = path_of(kind).expect("types that are written have names");
        let name = path.last().expect("a path has an end").as_str();
        match name {
            "String" => json!({ "type": "string" }),
            "char" => json!({ "type": "string", "minLength": 1, "maxLength": 1 }),
            "bool" => json!({ "type": "boolean" }),
            "f32" | "f64" => json!({ "type": "number" }),
            "u8" | "u16" | "u32" | "u64" | "usize" => json!({ "type": "integer", "minimum": 0 }),
            "i8" | "i16" | "i32" | "i64" | "isize" => json!({ "type": "integer" }),
            "Option" => {
                let schema = self.of_type(argument(kind, 0), module);
                or_null(schema)
            }
            "Box" => self.of_type(argument(kind, 0), module),
            "Vec" => json!({ "type": "array", "items": self.of_type(argument(kind, 0), module) }),
            "BTreeMap" => {
                let names = self.of_type(argument(kind, 0), module);
                let mut schema = json!({ "type": "object" });
                if names != json!({ "type": "string" }) {
                    schema["propertyNames"] = names;
                }
                schema["additionalProperties"] = self.of_type(argument(kind, 1), module);
                schema
            }
            _ => {
                if let Some(alias) = self.source.alias(module, &path) {
                    return self.of_type(alias, module);
                }
                let index = self.source.find(module, &path);
                let index = index.unwrap_or_else(|| {
                    panic!("what is {} in {}? The schema has to know", path.join("::"), module.join("::"))
                });
                self.reference(index)
            }
        }
    }
}

fn name_of(variant: &Variant, serde: &Serde) -> String {
    let own = Serde::of(&variant.attrs).rename;
    own.unwrap_or_else(|| renamed(&variant.ident.to_string(), serde.rename_all.as_deref()))
}

/// The names on the way to a type.
fn path_of(kind: &syn::Type) -> Option<Vec<String>> {
    match kind {
        syn::Type::Path(path) => {
            Some(path.path.segments.iter().map(|segment| segment.ident.to_string()).collect())
        }
        // Written as what it leads to.
        syn::Type::Reference(reference) => path_of(&reference.elem),
        _ => None,
    }
}

/// What a type is made for, where it is called `outer`.
fn inner<'kind>(kind: &'kind syn::Type, outer: &str) -> Option<&'kind syn::Type> {
    path_of(kind).is_some_and(|path| path.last().is_some_and(|last| last == outer)).then(|| argument(kind, 0))
}

fn argument(kind: &syn::Type, position: usize) -> &syn::Type {
    let syn::Type::Path(path) = kind else { panic!("only named types have arguments") };
    let last = path.path.segments.last().expect("a path has an end");
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        panic!("{} has no arguments", last.ident)
    };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(kind) => Some(kind),
        _ => None,
    });
    types.clone().nth(position).expect("it has so many")
}
