//! The modules of a crate use each other one way: next to each other, at every depth, none of them uses one that uses it, directly or
//! by others. A module and those within it are one thing to a reader, so that what these use of each other does not count.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Item, UseTree};

use crate::{facts, files};

/// Names from the crate's root to a module or an item.
type Names = Vec<String>;

/// A module that has a file.
struct Module {
    file: String,
    items: Vec<Item>,
    /// What it defines.
    defined: BTreeSet<String>,
    /// By name, what a `use` gives that name to.
    used: BTreeMap<String, Names>,
    /// Modules whose names it uses all.
    globs: Vec<Names>,
}

/// The modules of a crate, by their names.
type Modules = BTreeMap<Names, Module>;

/// By module, the modules beside it that it uses, each with the file that does.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn no_crate_has_a_cycle_of_modules() {
    let mut uses_found = 0;
    let mut circles: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in files::names_of_crates() {
        for (parent, uses) in uses_below_each(&modules_of(&name)) {
            uses_found += uses.values().map(BTreeMap::len).sum::<usize>();
            let within = [name.as_str()].into_iter().chain(parent.iter().map(String::as_str));
            let within = within.collect::<Vec<_>>().join("::");
            for (modules, edges) in circles_of(&uses) {
                circles.insert(format!("{within}:{}", modules.join(",")), edges);
            }
        }
    }
    assert!(uses_found > 500, "{uses_found} uses of modules were found: the source is read wrongly");
    let listed = facts::listed("../module_cycles.txt");
    let mut wrong = facts::differences(&circles, &listed, "module_cycles.txt");
    for circle in circles.keys().filter(|circle| !listed.contains_key(*circle)) {
        wrong.extend(circles[circle].iter().map(|used| format!("    {used}")));
    }
    assert!(wrong.is_empty(), "modules that use each other:\n{}", wrong.join("\n"));
}

fn modules_of(crate_name: &str) -> Modules {
    let mut modules = Modules::new();
    for source in files::of_crate(crate_name) {
        let names = names_of_file(&source.path);
        let mut module = Module {
            file: source.path,
            items: source.items,
            defined: BTreeSet::new(),
            used: BTreeMap::new(),
            globs: Vec::new(),
        };
        module.read_definitions();
        modules.insert(names, module);
    }
    let all: BTreeSet<Names> = modules.keys().cloned().collect();
    for (names, module) in &mut modules {
        module.read_uses(names, &all);
    }
    modules
}

/// The names of the module that a file is, of a path below `crates`.
fn names_of_file(path: &str) -> Names {
    let within = path.split_once("/src/").unwrap().1.trim_end_matches(".rs");
    let mut names: Names = within.split('/').map(String::from).collect();
    let last = names.last().unwrap().as_str();
    if last == "mod" || names.len() == 1 && ["lib", "main", "build"].contains(&last) {
        names.pop();
    }
    names
}

impl Module {
    fn read_definitions(&mut self) {
        for item in &self.items {
            let name = match item {
                Item::Const(item) => &item.ident,
                Item::Enum(item) => &item.ident,
                Item::Fn(item) => &item.sig.ident,
                Item::Static(item) => &item.ident,
                Item::Struct(item) => &item.ident,
                Item::Trait(item) => &item.ident,
                Item::Type(item) => &item.ident,
                Item::Union(item) => &item.ident,
                _ => continue,
            };
            self.defined.insert(name.to_string());
        }
    }

    fn read_uses(&mut self, own: &[String], all: &BTreeSet<Names>) {
        let mut trees = Vec::new();
        for item in &self.items {
            if let Item::Use(item) = item {
                trees.push((Names::new(), &item.tree));
            }
        }
        while let Some((prefix, tree)) = trees.pop() {
            let (name, path) = match tree {
                UseTree::Path(path) => {
                    trees.push((joined(&prefix, &path.ident), &path.tree));
                    continue;
                }
                UseTree::Group(group) => {
                    for tree in &group.items {
                        trees.push((prefix.clone(), tree));
                    }
                    continue;
                }
                UseTree::Glob(_) => {
                    self.globs.extend(from_root(&prefix, own, all));
                    continue;
                }
                UseTree::Name(name) => (&name.ident, joined(&prefix, &name.ident)),
                UseTree::Rename(name) => (&name.rename, joined(&prefix, &name.ident)),
            };
            if let Some(target) = from_root(&path, own, all) {
                self.used.insert(name.to_string(), target);
            }
        }
    }
}

fn joined(prefix: &[String], name: &syn::Ident) -> Names {
    let mut names = prefix.to_vec();
    if name != "self" || prefix.is_empty() {
        names.push(name.to_string());
    }
    names
}

/// A path that the module `own` writes, from the crate's root; `None` if it leads to another crate.
fn from_root(path: &[String], own: &[String], all: &BTreeSet<Names>) -> Option<Names> {
    let mut names = own.to_vec();
    let mut rest = path;
    match rest.first()?.as_str() {
        "crate" => names.clear(),
        "self" => {}
        "super" => {
            names.pop();
        }
        first => {
            names.push(first.to_string());
            if !all.contains(&names) {
                return None;
            }
        }
    }
    rest = &rest[1..];
    for name in rest {
        if name == "super" {
            names.pop();
        } else {
            names.push(name.clone());
        }
    }
    Some(names)
}

/// The module in which a path from the root ends: where the item is defined, behind all that export it again.
fn home(modules: &Modules, path: &[String], steps_left: u32) -> Names {
    let mut names = Names::new();
    for (nth, name) in path.iter().enumerate() {
        let within = [names.as_slice(), std::slice::from_ref(name)].concat();
        if modules.contains_key(&within) {
            names = within;
            continue;
        }
        let Some(module) = modules.get(&names).filter(|module| !module.defined.contains(name)) else { break };
        if steps_left == 0 {
            break;
        }
        if let Some(target) = module.used.get(name) {
            return home(modules, &[target, &path[nth + 1..]].concat(), steps_left - 1);
        }
        for glob in &module.globs {
            let found = home(modules, &[glob.as_slice(), &path[nth..]].concat(), steps_left - 1);
            if modules[&found].defined.contains(name) {
                return found;
            }
        }
        break;
    }
    names
}

/// By module, how the modules directly within it use each other.
fn uses_below_each(modules: &Modules) -> BTreeMap<Names, Uses> {
    let all: BTreeSet<Names> = modules.keys().cloned().collect();
    let mut levels: BTreeMap<Names, Uses> = BTreeMap::new();
    for (own, module) in modules {
        let mut paths: BTreeSet<Names> = module.used.values().chain(&module.globs).cloned().collect();
        for item in &module.items {
            if !matches!(item, Item::Use(_)) {
                add_paths(item.to_token_stream(), own, &all, &mut paths);
            }
        }
        for path in paths {
            let used = home(modules, &path, 8);
            let common = own.iter().zip(&used).take_while(|(one, other)| one == other).count();
            if let (Some(from), Some(to)) = (own.get(common), used.get(common)) {
                let uses = levels.entry(own[..common].to_vec()).or_default();
                uses.entry(from.clone())
                    .or_default()
                    .entry(to.clone())
                    .or_insert_with(|| module.file.clone());
            }
        }
    }
    levels
}

/// Adds the paths within the crate that these tokens have.
fn add_paths(tokens: TokenStream, own: &[String], all: &BTreeSet<Names>, paths: &mut BTreeSet<Names>) {
    let mut path = Names::new();
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => {
                if colons != 2 {
                    paths.extend(whole_path(&path, own, all));
                    path.clear();
                }
                path.push(name.to_string());
                colons = 0;
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' && !path.is_empty() => colons += 1,
            other => {
                paths.extend(whole_path(&path, own, all));
                path.clear();
                colons = 0;
                if let TokenTree::Group(group) = other {
                    add_paths(group.stream(), own, all, paths);
                }
            }
        }
    }
    paths.extend(whole_path(&path, own, all));
}

/// A path of several names, from the root.
fn whole_path(path: &[String], own: &[String], all: &BTreeSet<Names>) -> Option<Names> {
    if path.len() < 2 {
        return None;
    }
    from_root(path, own, all)
}

/// Whether a module uses another one, directly or by others.
fn reaches(uses: &Uses, from: &str, to: &str) -> bool {
    let mut open = vec![from];
    let mut seen = BTreeSet::new();
    while let Some(module) = open.pop() {
        for used in uses.get(module).into_iter().flat_map(BTreeMap::keys) {
            if used == to {
                return true;
            }
            if seen.insert(used) {
                open.push(used);
            }
        }
    }
    false
}

/// Modules that reach each other, each circle with its uses, a line each.
fn circles_of(uses: &Uses) -> BTreeMap<Names, Vec<String>> {
    let mut circles: BTreeMap<Names, Vec<String>> = BTreeMap::new();
    for (from, used) in uses {
        let mut circle: Names = uses.keys().filter(|other| reaches(uses, from, other)).cloned().collect();
        circle.retain(|other| reaches(uses, other, from));
        for (to, file) in used {
            if circle.contains(to) {
                circles.entry(circle.clone()).or_default().push(format!("{from} -> {to} ({file})"));
            }
        }
    }
    circles
}

fn names(path: &str) -> Names {
    path.split("::").filter(|name| !name.is_empty()).map(String::from).collect()
}

/// Modules by their paths, each with its source.
fn modules_from(sources: &[(&str, &str)]) -> Modules {
    let mut modules = Modules::new();
    for (path, source) in sources {
        let mut module = Module {
            file: format!("{path}.rs"),
            items: syn::parse_str::<syn::File>(source).unwrap().items,
            defined: BTreeSet::new(),
            used: BTreeMap::new(),
            globs: Vec::new(),
        };
        module.read_definitions();
        modules.insert(names(path), module);
    }
    let all: BTreeSet<Names> = modules.keys().cloned().collect();
    for (names, module) in &mut modules {
        module.read_uses(names, &all);
    }
    modules
}

/// The uses that are part of a cycle, of all levels.
fn in_cycles(sources: &[(&str, &str)]) -> Vec<String> {
    let mut found = Vec::new();
    for (_, uses) in uses_below_each(&modules_from(sources)) {
        found.extend(circles_of(&uses).into_values().flatten());
    }
    found
}

#[test]
fn a_cycle_is_found_by_use_and_by_path_at_every_depth() {
    let root = ("", "mod a; mod b; mod c;");
    let one_way = [
        root,
        ("a", "use crate::b::B;"),
        ("b", "pub struct B; fn f() { crate::c::g() }"),
        ("c", "pub fn g() {}"),
    ];
    assert_eq!(in_cycles(&one_way), Vec::<String>::new());
    let round = [
        root,
        ("a", "use super::b::B;"),
        ("b", "pub struct B; fn f() { crate::c::g() }"),
        ("c", "use crate::{a};"),
    ];
    assert_eq!(in_cycles(&round), ["a -> b (a.rs)", "b -> c (b.rs)", "c -> a (c.rs)"]);
    let deep = [
        ("", "mod a;"),
        ("a", "mod x; mod y;"),
        ("a::x", "fn f() { write!(y, \"{}\", super::y::G) }"),
        ("a::y", "const G: u8 = 0; use crate::a::x::f;"),
    ];
    assert_eq!(in_cycles(&deep), ["x -> y (a::x.rs)", "y -> x (a::y.rs)"]);
}

#[test]
fn a_name_is_used_where_it_is_defined() {
    // Between a module and those within it there is no cycle; by what it exports, they can use each other.
    let exported = [
        ("", "mod a;"),
        ("a", "mod x; mod y; pub use x::X; use y::*;"),
        ("a::x", "use super::Y; pub struct X;"),
        ("a::y", "use crate::a::X; pub struct Y;"),
    ];
    assert_eq!(in_cycles(&exported), ["x -> y (a::x.rs)", "y -> x (a::y.rs)"]);
    let parent = [
        ("", "mod a;"),
        ("a", "mod x; pub use x::X; pub struct A;"),
        ("a::x", "use super::A; pub struct X;"),
    ];
    assert_eq!(in_cycles(&parent), Vec::<String>::new());
}
