//! Members of saved types that are text.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};
use syn::{Attribute, Fields, GenericArgument, ItemEnum, ItemStruct, PathArguments, Type};

use crate::files;

/// Crates with types that results files have.
const CRATES: [&str; 4] = ["capbench-model", "capbench-judge", "capbench-results", "capbench-reproduce"];

/// By `file:Type.member`, its type.
pub fn of_saved_types() -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for name in CRATES {
        for source in files::of_crate(name) {
            let mut texts = Texts { path: source.path.clone(), found: BTreeMap::new() };
            source.items.iter().for_each(|item| texts.visit_item(item));
            found.extend(texts.found);
        }
    }
    found
}

struct Texts {
    path: String,
    found: BTreeMap<String, String>,
}

impl Texts {
    fn note(&mut self, name: &str, fields: &Fields) {
        for (nth, field) in fields.iter().enumerate() {
            if is_text(&field.ty) {
                let member = field.ident.as_ref().map_or_else(|| nth.to_string(), ToString::to_string);
                self.found.insert(format!("{}:{name}.{member}", self.path), String::new());
            }
        }
    }
}

impl<'ast> Visit<'ast> for Texts {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        if is_saved(&item.attrs) {
            self.note(&item.ident.to_string(), &item.fields);
        }
    }

    fn visit_item_enum(&mut self, item: &'ast ItemEnum) {
        if is_saved(&item.attrs) {
            for variant in &item.variants {
                self.note(&format!("{}::{}", item.ident, variant.ident), &variant.fields);
            }
        }
        visit::visit_item_enum(self, item);
    }
}

/// Whether it is written by its members.
fn is_saved(attributes: &[Attribute]) -> bool {
    let mut is_written = false;
    for attribute in attributes {
        let syn::Meta::List(list) = &attribute.meta else { continue };
        let text = list.tokens.to_string();
        let mut words = text.split(|letter: char| !letter.is_alphanumeric());
        is_written |= attribute.path().is_ident("derive") && words.any(|word| word == "Serialize");
        // Its text is read and written by its FromStr and Display.
        if attribute.path().is_ident("serde") && text.contains("into = \"String\"") {
            return false;
        }
    }
    is_written
}

/// A String or Cow, or an Option, Vec, set or map of them.
fn is_text(of: &Type) -> bool {
    let Type::Path(path) = of else { return false };
    let Some(last) = path.path.segments.last() else { return false };
    if last.ident == "String" || last.ident == "Cow" {
        return true;
    }
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return false };
    let is_container = ["Option", "Vec", "Box", "BTreeSet", "BTreeMap"].iter().any(|name| last.ident == name);
    let value = arguments.args.last();
    is_container && matches!(value, Some(GenericArgument::Type(value)) if is_text(value))
}
