//! The parsed source of a crate, without its tests.

use std::fs;
use std::path::{Path, PathBuf};

use syn::{Attribute, Item};

/// A file of a crate: its path below `crates`, and its items.
pub struct Source {
    pub path: String,
    pub items: Vec<Item>,
}

/// Files that only tests use.
const OF_TESTS: [&str; 4] = ["tests", "for_tests", "fuzzing", "schema_tests"];

/// The names of all crates.
pub fn names_of_crates() -> Vec<String> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut names = Vec::new();
    for entry in fs::read_dir(crates).unwrap() {
        names.push(entry.unwrap().file_name().into_string().unwrap());
    }
    names.sort();
    names
}

/// The sources of a crate.
pub fn of_crate(name: &str) -> Vec<Source> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    files_below(&crates.join(name).join("src"), &mut files);
    files.sort();
    let mut sources = Vec::new();
    let mut of_tests = Vec::new();
    for file in files {
        let parsed = syn::parse_file(&fs::read_to_string(&file).unwrap()).unwrap();
        let modules = folder_of_modules(&file);
        let (tests, items): (Vec<Item>, Vec<Item>) = parsed.items.into_iter().partition(is_of_tests);
        for item in tests {
            if let Item::Mod(module) = item {
                of_tests.push(modules.join(module.ident.to_string()));
            }
        }
        sources.push((file, items));
    }
    sources.retain(|(file, _)| !of_tests.iter().any(|module| file.with_extension("").starts_with(module)));
    let sources: Vec<Source> =
        sources.into_iter().map(|(file, items)| source(crates, &file, items)).collect();
    assert!(!sources.is_empty(), "{name} has no source");
    sources
}

fn source(crates: &Path, file: &Path, items: Vec<Item>) -> Source {
    Source { path: file.strip_prefix(crates).unwrap().to_str().unwrap().to_string(), items }
}

/// Where the files of a file's modules are.
fn folder_of_modules(file: &Path) -> PathBuf {
    let is_root = ["mod", "lib", "main"].iter().any(|name| file.file_stem().unwrap() == *name);
    match is_root {
        true => file.parent().unwrap().to_path_buf(),
        false => file.with_extension(""),
    }
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if OF_TESTS.contains(&path.file_stem().unwrap().to_str().unwrap()) {
            continue;
        }
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn is_of_tests(item: &Item) -> bool {
    let attributes = match item {
        Item::Mod(module) => &module.attrs,
        Item::Fn(function) => &function.attrs,
        Item::Impl(block) => &block.attrs,
        Item::Use(import) => &import.attrs,
        _ => return false,
    };
    is_cfg_of_tests_in(attributes)
}

/// Whether an item with these attributes is for tests.
pub fn is_cfg_of_tests_in(attributes: &[Attribute]) -> bool {
    attributes.iter().any(is_cfg_of_tests)
}

fn is_cfg_of_tests(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    let text = list.tokens.to_string();
    attribute.path().is_ident("cfg")
        && (text.starts_with("test") || text.contains("(test") || text == "fuzzing")
}
