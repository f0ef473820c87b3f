//! The top-level modules of a crate use each other one way: no crate has a cycle of them. The same of its files: see [`files`].

mod files;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// By module, the modules that it uses, each with a file that does.
type Uses = BTreeMap<String, BTreeMap<String, PathBuf>>;

#[test]
fn no_crate_has_a_cycle_of_modules() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let (mut cycles, mut edges) = (Vec::new(), 0);
    for entry in fs::read_dir(crates).unwrap() {
        let source = entry.unwrap().path().join("src");
        let uses = uses_in(&source);
        edges += uses.values().map(BTreeMap::len).sum::<usize>();
        cycles.extend(cycle_of(&uses).map(|cycle| described(&cycle, &uses, crates)));
    }
    assert!(edges > 100, "{edges} uses of modules were found: the source is read wrongly");
    assert!(cycles.is_empty(), "modules that use each other:\n{}", cycles.join("\n"));
}

fn uses_in(source: &Path) -> Uses {
    let mut files = Vec::new();
    files_below(source, &mut files);
    let modules: BTreeSet<_> = files.iter().filter_map(|file| module_of(source, file)).collect();
    let root = re_exported(&fs::read_to_string(source.join("lib.rs")).unwrap_or_default());
    let mut uses = Uses::new();
    for file in files {
        let Some(module) = module_of(source, &file) else { continue };
        let used = uses.entry(module.clone()).or_default();
        if is_test(source, &file) {
            continue;
        }
        let mut code = code_of(&fs::read_to_string(&file).unwrap());
        if file.parent() == Some(source) {
            code = code.replace("super::", "crate::");
        }
        for name in used_names(&code) {
            // A name at the crate's root counts as the module that it is from.
            let name = root.get(&name).cloned().unwrap_or(name);
            if name != module && modules.contains(&name) {
                used.entry(name).or_insert_with(|| file.clone());
            }
        }
    }
    uses
}

/// By name, the module from which the crate's root re-exports it.
fn re_exported(root: &str) -> BTreeMap<String, String> {
    let uses = root.split(';').filter_map(|statement| statement.split_once("use ")?.1.split_once("::"));
    let names = |(module, names): (&str, &str)| {
        let names = names.split([',', '{', '}']).map(|name| name.trim().to_string());
        names.map(|name| (name, module.to_string())).collect::<Vec<_>>()
    };
    uses.flat_map(names).collect()
}

fn files_below(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, files);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            files.push(path);
        }
    }
}

/// The top-level module of a file; none for the crate's root, which may name them all.
fn module_of(source: &Path, file: &Path) -> Option<String> {
    let first = file.strip_prefix(source).unwrap().iter().next().unwrap().to_str().unwrap();
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (!["lib", "main"].contains(&name)).then(|| name.to_string())
}

fn is_test(source: &Path, file: &Path) -> bool {
    let path = file.strip_prefix(source).unwrap();
    path.iter().any(|part| part == "tests") || path.to_str().unwrap().ends_with("tests.rs")
}

/// The text without comments, up to a module of tests.
fn code_of(text: &str) -> String {
    let mut code = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let opens_tests = |next: &&str| next.trim_start().contains("mod ") && next.ends_with('{');
        if line.trim() == "#[cfg(test)]" && lines.peek().is_some_and(opens_tests) {
            break;
        }
        code += line.split("//").next().unwrap_or_default();
        code.push('\n');
    }
    code
}

/// The first names of all paths that begin with `crate::`.
fn used_names(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        let Some(group) = rest.strip_prefix('{') else {
            names.insert(first_name(rest));
            continue;
        };
        let (mut depth, mut begins_path) = (1, true);
        for (at, character) in group.char_indices() {
            match character {
                '{' => depth += 1,
                '}' => depth -= 1,
                ',' if depth == 1 => begins_path = true,
                _ if begins_path && !character.is_whitespace() => {
                    names.insert(first_name(&group[at..]));
                    begins_path = false;
                }
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
    }
    names
}

fn first_name(path: &str) -> String {
    path.chars().take_while(|character| character.is_alphanumeric() || *character == '_').collect()
}

/// A cycle, its first module repeated at its end.
fn cycle_of(uses: &Uses) -> Option<Vec<String>> {
    fn visit(uses: &Uses, path: &mut Vec<String>, done: &mut BTreeSet<String>) -> bool {
        let module = path[path.len() - 1].clone();
        for used in uses.get(&module).into_iter().flat_map(BTreeMap::keys) {
            if let Some(start) = path.iter().position(|earlier| earlier == used) {
                path.drain(..start);
                path.push(used.clone());
                return true;
            }
            if !done.contains(used) {
                path.push(used.clone());
                if visit(uses, path, done) {
                    return true;
                }
                path.pop();
            }
        }
        done.insert(module);
        false
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| {
        let mut path = vec![module.clone()];
        visit(uses, &mut path, &mut done).then_some(path)
    })
}

fn described(cycle: &[String], uses: &Uses, crates: &Path) -> String {
    let step = |pair: &[String]| {
        let file = uses[&pair[0]][&pair[1]].strip_prefix(crates).unwrap().display().to_string();
        format!("{} -> {} ({file})", pair[0], pair[1])
    };
    cycle.windows(2).map(step).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_cycle_is_found_as_a_path() {
    let uses = |edges: &[(&str, &str)]| {
        let mut uses = Uses::new();
        for (from, to) in edges {
            uses.entry((*from).into()).or_default().insert((*to).into(), PathBuf::new());
        }
        cycle_of(&uses).map(|cycle| cycle.join(" "))
    };
    assert_eq!(uses(&[("a", "b"), ("b", "c"), ("a", "c"), ("d", "a")]), None);
    assert_eq!(uses(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b")]).as_deref(), Some("b c d b"));
}

#[test]
fn names_are_read_in_code_only() {
    let text = "use crate::one::Two;\nuse crate::{three::{Four, five}, six};\n// crate::comment\nfn f() { crate::seven::g() }\n\
                #[cfg(test)]\nuse crate::eight;\n#[cfg(test)]\nmod tests {\n    use crate::nine;\n}\n";
    let names = used_names(&code_of(text));
    assert_eq!(
        names.iter().map(String::as_str).collect::<Vec<_>>(),
        ["eight", "one", "seven", "six", "three"]
    );
}
