//! The files of a crate use each other one way: no two of them use each other, directly or through others. Only a file and its
//! own submodules may: a table in `mod.rs` lists them, and they have its types.
//!
//! `files.txt` has the cycles that are left. It only becomes shorter.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

use super::{files_below, is_test};

/// The place of a file in its crate: `["measuring", "recorder"]`.
type Module = Vec<String>;

#[test]
fn no_file_uses_one_that_uses_it() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = BTreeSet::new();
    let mut files = 0;
    for entry in fs::read_dir(tests.parent().unwrap()).unwrap() {
        let folder = entry.unwrap().path();
        let source = source_in(&folder.join("src"));
        files += source.len();
        let name = folder.file_name().unwrap().to_str().unwrap();
        for cycle in cycles(&uses(&source)) {
            found.insert(format!("{name}: {}", cycle.join(", ")));
        }
    }
    assert!(files > 500, "{files} files were found: the source is read wrongly");
    let list = fs::read_to_string(tests.join("tests/module_cycles/files.txt")).unwrap();
    let listed: BTreeSet<String> =
        list.lines().filter(|line| !line.starts_with('#')).map(String::from).collect();
    let added: Vec<_> = found.difference(&listed).collect();
    let gone: Vec<_> = listed.difference(&found).collect();
    assert!(added.is_empty(), "files that use each other: {added:#?}");
    assert!(gone.is_empty(), "take these out of files.txt: {gone:#?}");
}

/// The paths that a file uses, and the names that it re-exports.
#[derive(Default)]
struct Source {
    used: Vec<Vec<String>>,
    re_exported: BTreeMap<String, Vec<String>>,
}

/// The files of a crate, by their places; its root is left out.
fn source_in(folder: &Path) -> BTreeMap<Module, Source> {
    let mut files = Vec::new();
    if folder.is_dir() {
        files_below(folder, &mut files);
    }
    let mut all = BTreeMap::new();
    for file in files {
        if is_test(folder, &file) {
            continue;
        }
        let path = file.strip_prefix(folder).unwrap().with_extension("");
        let mut module: Module = path.iter().map(|part| part.to_str().unwrap().to_string()).collect();
        if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            module.pop();
        }
        if !module.is_empty() {
            all.insert(module, read(&fs::read_to_string(&file).unwrap()));
        }
    }
    all
}

fn read(text: &str) -> Source {
    let mut source = Source::default();
    source.visit_file(&syn::parse_file(text).unwrap());
    source
}

impl<'ast> Visit<'ast> for Source {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(module) => &module.attrs,
            Item::Fn(function) => &function.attrs,
            Item::Use(used) => &used.attrs,
            Item::Impl(block) => &block.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut paths = Vec::new();
        add_paths(&item.tree, &mut Vec::new(), &mut paths);
        for (name, path) in paths {
            match item.vis {
                Visibility::Inherited => self.used.push(path),
                _ => drop(self.re_exported.insert(name, path)),
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.used.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invoked: &'ast syn::Macro) {
        self.add_tokens(invoked.tokens.clone());
    }
}

impl Source {
    /// Adds the paths in what a macro is called with.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.used.push(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                TokenTree::Punct(sign) if sign.as_char() == ':' => colons += 1,
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                _ => self.used.push(std::mem::take(&mut path)),
            }
        }
        self.used.push(path);
    }
}

fn is_for_tests(attribute: &Attribute) -> bool {
    let syn::Meta::List(list) = &attribute.meta else { return false };
    attribute.path().is_ident("cfg") && list.tokens.to_string().contains("test")
}

/// Adds the paths of a `use`, each with the name that it gets.
fn add_paths(tree: &UseTree, before: &mut Vec<String>, paths: &mut Vec<(String, Vec<String>)>) {
    let (name, renamed) = match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            add_paths(&path.tree, before, paths);
            before.pop();
            return;
        }
        UseTree::Group(group) => {
            for part in &group.items {
                add_paths(part, before, paths);
            }
            return;
        }
        UseTree::Name(name) => (name.ident.to_string(), name.ident.to_string()),
        UseTree::Rename(rename) => (rename.ident.to_string(), rename.rename.to_string()),
        UseTree::Glob(_) => ("*".to_string(), "*".to_string()),
    };
    let mut path = before.clone();
    path.push(name);
    paths.push((renamed, path));
}

/// By file, the files that it uses, without its submodules.
fn uses(source: &BTreeMap<Module, Source>) -> BTreeMap<&Module, BTreeSet<Module>> {
    let mut uses = BTreeMap::new();
    for (module, file) in source {
        let mut used = BTreeSet::new();
        for path in &file.used {
            let Some(target) = resolved(source, module, path, 0) else { continue };
            if source.contains_key(&target) && !target.starts_with(module) {
                used.insert(target);
            }
        }
        uses.insert(module, used);
    }
    uses
}

/// The file that a path in a module leads to: of a re-exported name the one that it is from.
fn resolved(
    source: &BTreeMap<Module, Source>,
    module: &Module,
    path: &[String],
    followed: usize,
) -> Option<Module> {
    const MOST: usize = 8;
    let mut path = path;
    let mut target = module.clone();
    match path.first()?.as_str() {
        "crate" => {
            target.clear();
            path = &path[1..];
        }
        "self" => path = &path[1..],
        "super" => {
            while path.first().is_some_and(|first| first == "super") {
                target.pop();
                path = &path[1..];
            }
        }
        first => {
            let child = [module.as_slice(), &[first.to_string()]].concat();
            if !source.contains_key(&child) {
                return None;
            }
        }
    }
    while let [first, rest @ ..] = path {
        let child = [target.as_slice(), std::slice::from_ref(first)].concat();
        if !source.contains_key(&child) {
            break;
        }
        target = child;
        path = rest;
    }
    let origin = path.first().and_then(|name| source.get(&target)?.re_exported.get(name));
    match origin {
        Some(origin) if followed < MOST => resolved(source, &target, origin, followed + 1).or(Some(target)),
        _ => Some(target),
    }
}

/// The groups of files that reach each other, each as the names of its modules.
fn cycles(uses: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<Vec<String>> {
    let mut reached = BTreeMap::new();
    for module in uses.keys() {
        reached.insert(*module, reached_from(module, uses));
    }
    let mut cycles = BTreeSet::new();
    for (module, from_module) in &reached {
        let mut cycle = Vec::new();
        for (second, from_second) in &reached {
            if from_module.contains(*second) && from_second.contains(*module) {
                cycle.push(second.join("::"));
            }
        }
        if cycle.len() > 1 {
            cycles.insert(cycle);
        }
    }
    cycles
}

/// The files that a file uses, directly or through others; itself only if it is in a cycle.
fn reached_from(module: &Module, uses: &BTreeMap<&Module, BTreeSet<Module>>) -> BTreeSet<Module> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<Module> = vec![module.clone()];
    while let Some(next) = open.pop() {
        for used in uses.get(&next).into_iter().flatten() {
            if reached.insert(used.clone()) {
                open.push(used.clone());
            }
        }
    }
    reached
}

/// The cycles of files with these texts.
fn cycles_of(texts: &[(&str, &str)]) -> Vec<String> {
    let mut source = BTreeMap::new();
    for (module, text) in texts {
        source.insert(module.split("::").map(String::from).collect(), read(text));
    }
    cycles(&uses(&source)).into_iter().map(|cycle| cycle.join(", ")).collect()
}

#[test]
fn a_cycle_of_files_is_found_through_groups_macros_and_re_exported_names() {
    let table = ("a", "mod b; mod c; pub use b::B; pub struct A; fn all() { b::b(); c::c() }");
    let b = "use super::{A, c::C}; pub struct B;";
    let c = |text| [table, ("a::b", b), ("a::c", text)];
    assert_eq!(cycles_of(&c("use super::A; pub struct C;")), Vec::<String>::new(), "a table and its entries");
    assert_eq!(cycles_of(&c("use super::B; pub struct C;")), ["a::b, a::c"], "a re-exported name");
    assert_eq!(cycles_of(&c("pub struct C; fn c() { println!(\"{}\", super::b::B) }")), ["a::b, a::c"]);
    assert_eq!(cycles_of(&c("pub struct C; fn c() { crate::a::b::b() }")), ["a::b, a::c"]);
    let of_tests = "pub struct C; #[cfg(test)] mod tests { use super::super::b::B; }";
    assert_eq!(cycles_of(&c(of_tests)), Vec::<String>::new());
}
