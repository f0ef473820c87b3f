//! The types of the workspace that serde writes, as they stand in the source.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use syn::{Item, UseTree};

use super::attributes::is_written;

/// Crates whose types are saved, by their folders.
const CRATES: [&str; 7] = [
    "capbench-measure",
    "capbench-host",
    "capbench-model",
    "capbench-traffic",
    "capbench-capture",
    "capbench-report",
    "capbench-sys",
];
/// The constant of a module that says which version of a file it writes.
const VERSION: &str = "SCHEMA_VERSION";

/// A type that is written.
pub struct Type {
    /// Its name.
    pub name: String,
    /// Where it stands: the crate and its modules.
    pub module: Vec<String>,
    /// What it is.
    pub item: Definition,
}

/// What a type is.
pub enum Definition {
    /// With members.
    Struct(syn::ItemStruct),
    /// With variants.
    Enum(syn::ItemEnum),
}

/// All types, and what each module calls those of others.
#[derive(Default)]
pub struct Source {
    types: Vec<Type>,
    /// By module: the path behind each name.
    uses: BTreeMap<Vec<String>, BTreeMap<String, Vec<String>>>,
    /// Other names of types, by module and name.
    aliases: BTreeMap<(Vec<String>, String), syn::Type>,
    /// Versions of files, by the module that writes them.
    versions: BTreeMap<Vec<String>, u32>,
}

impl Source {
    /// Reads the source.
    ///
    /// # Panics
    /// When it cannot be read or is no Rust.
    pub fn read() -> Self {
        let mut source = Self::default();
        for name in CRATES {
            let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
            source.folder(&root, &[name.replace('-', "_")]);
        }
        source
    }

    fn folder(&mut self, folder: &Path, module: &[String]) {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let inner = [module, std::slice::from_ref(&stem)].concat();
            if path.is_dir() {
                self.folder(&path, &inner);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let is_folders = matches!(stem.as_str(), "mod" | "lib");
                self.file(&path, if is_folders { module } else { &inner });
            }
        }
    }

    fn file(&mut self, path: &Path, module: &[String]) {
        let text = std::fs::read_to_string(path).unwrap();
        let file = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let mut uses = BTreeMap::new();
        for item in file.items {
            let (name, item) = match item {
                Item::Use(item) => {
                    names(&item.tree, &mut Vec::new(), &mut uses);
                    continue;
                }
                Item::Struct(item) if is_written(&item.attrs) => {
                    (item.ident.to_string(), Definition::Struct(item))
                }
                Item::Type(item) => {
                    self.aliases.insert((module.to_vec(), item.ident.to_string()), *item.ty);
                    continue;
                }
                Item::Const(item) if item.ident == VERSION => {
                    let version =
                        number(&item.expr).unwrap_or_else(|| panic!("{VERSION} of {}", path.display()));
                    self.versions.insert(module.to_vec(), version);
                    continue;
                }
                Item::Enum(item) if is_written(&item.attrs) => {
                    (item.ident.to_string(), Definition::Enum(item))
                }
                _ => continue,
            };
            self.types.push(Type { name, module: module.to_vec(), item });
        }
        let absolute = uses.into_iter().map(|(name, path)| (name, self.absolute(module, &path)));
        let absolute: BTreeMap<_, _> = absolute.collect();
        self.uses.entry(module.to_vec()).or_default().extend(absolute);
    }

    /// A path from the crate on, as far as that can be told without looking further.
    fn absolute(&self, module: &[String], path: &[String]) -> Vec<String> {
        let mut base = module.to_vec();
        let mut rest = path;
        match path.first().map(String::as_str) {
            Some("crate") => {
                base.truncate(1);
                rest = &path[1..];
            }
            Some("self") => rest = &path[1..],
            Some("super") => {
                while rest.first().is_some_and(|part| part == "super") {
                    base.pop();
                    rest = &rest[1..];
                }
            }
            Some(first) if first.starts_with("capbench_") => base.clear(),
            // A module beside or below this one, or another crate.
            _ => {}
        }
        base.extend_from_slice(rest);
        base
    }

    /// The path behind one that leads through what modules re-export.
    fn followed(&self, path: Vec<String>) -> Vec<String> {
        let step = (1..path.len()).find_map(|at| {
            let target = self.uses.get(&path[..at])?.get(&path[at])?;
            (target != &path[..=at]).then(|| [target, &path[at + 1..]].concat())
        });
        step.map_or(path, |next| self.followed(next))
    }

    /// The type that a module means by a path; `None` where it is none of the workspace's.
    ///
    /// # Panics
    /// Where it could be several.
    pub fn find(&self, module: &[String], path: &[String]) -> Option<usize> {
        let (last, leading) = path.split_last()?;
        let uses = self.uses.get(module);
        let alias = |name: &String| uses.and_then(|uses| uses.get(name)).cloned();
        let absolute = self.followed(match leading.first() {
            None => alias(last).unwrap_or_else(|| [module, std::slice::from_ref(last)].concat()),
            Some(first) => match alias(first) {
                Some(whole) => [&whole, &path[1..]].concat(),
                None => self.absolute(module, path),
            },
        });
        let name = absolute.last()?;
        let named = |place: &[String]| -> Vec<usize> {
            let is_it = |found: &Type| found.name == *name && found.module.starts_with(place);
            (0..self.types.len()).filter(|index| is_it(&self.types[*index])).collect()
        };
        // A module can hand on what stands below it, so the nearest below its path is meant; a path that begins beside the
        // module leads from one of those above.
        let (place, home) = (&absolute[..absolute.len() - 1], module.len().saturating_sub(1));
        let mut found = named(place);
        if found.is_empty() && !leading.is_empty() {
            found = named(&[&module[..home], leading].concat());
        }
        if found.is_empty() && alias(last).is_some_and(|path| path[0].starts_with("capbench_")) {
            found = named(&[]);
        }
        let depth = found.iter().map(|index| self.types[*index].module.len()).min()?;
        found.retain(|index| self.types[*index].module.len() == depth);
        assert!(found.len() == 1, "{} in {}: which of several is meant?", path.join("::"), module.join("::"));
        found.first().copied()
    }

    /// What a name of a module stands for; `None` where it is no other name of a type.
    pub fn alias(&self, module: &[String], path: &[String]) -> Option<&syn::Type> {
        let [name] = path else { return None };
        self.aliases.get(&(module.to_vec(), name.clone()))
    }

    /// Which version of its file a module writes.
    ///
    /// # Panics
    /// Where it does not say.
    pub fn schema_version(&self, module: &[&str]) -> u32 {
        let module: Vec<String> = module.iter().map(|part| (*part).to_owned()).collect();
        self.versions[&module]
    }

    /// A type by its number.
    pub fn get(&self, index: usize) -> &Type {
        &self.types[index]
    }
}

fn number(expression: &syn::Expr) -> Option<u32> {
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) = expression else { return None };
    number.base10_parse().ok()
}

/// Names that a `use` brings, with the path that each stands for.
fn names(tree: &UseTree, before: &mut Vec<String>, found: &mut BTreeMap<String, Vec<String>>) {
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            names(&path.tree, before, found);
            before.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            if let Some(last) = before.last() {
                found.insert(last.clone(), before.clone());
            }
        }
        UseTree::Name(name) => {
            let name = name.ident.to_string();
            found.insert(name.clone(), [before.as_slice(), &[name]].concat());
        }
        UseTree::Rename(rename) => {
            let path = [before.as_slice(), &[rename.ident.to_string()]].concat();
            found.insert(rename.rename.to_string(), path);
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, before, found)),
        UseTree::Glob(_) => {}
    }
}
