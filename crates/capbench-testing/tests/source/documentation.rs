//! Links of the documentation: every file and every heading that a page links to exists, and the index has every page.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The root of the source.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the source")
}

/// Markdown files in a folder and below.
fn pages_below(folder: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of pages") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            pages.extend(pages_below(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    pages
}

/// Lines of a page that are not code.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence && !line.starts_with("    ")
    })
}

/// Lines of a page between fences.
fn fenced(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines().filter(move |line| {
        let fence = line.starts_with("```");
        in_code ^= fence;
        in_code && !fence
    })
}

/// The anchor that GitHub and mdBook make of a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Anchors of a page's headings.
fn anchors(text: &str) -> HashSet<String> {
    let headings = prose(text).filter(|line| line.starts_with('#'));
    headings.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

/// Targets of the links of a page.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every second part is code within the line.
        let without_code: String = line.split('`').step_by(2).collect();
        for rest in without_code.split("](").skip(1) {
            found.extend(rest.split_once(')').map(|(target, _)| target.to_owned()));
        }
    }
    found
}

#[test]
fn every_link_leads_somewhere() {
    let root = root();
    let mut pages = pages_below(&root.join("docs"));
    pages.extend(
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"]
            .map(|name| root.join(name)),
    );
    let texts: HashMap<&PathBuf, String> =
        pages.iter().map(|page| (page, fs::read_to_string(page).expect("a page"))).collect();
    let mut dead = Vec::new();
    for page in &pages {
        for link in links(&texts[page]).into_iter().filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let target = if file.is_empty() { page.clone() } else { page.with_file_name(file) };
            let Ok(target) = target.canonicalize() else {
                dead.push(format!("{}: {link}: there is no such file", page.display()));
                continue;
            };
            if page.starts_with(root.join("docs")) && !target.starts_with(root.join("docs")) {
                dead.push(format!("{}: {link}: it is not in docs/, and so not on the site", page.display()));
            }
            if !heading.is_empty() && !texts.get(&target).is_some_and(|text| anchors(text).contains(heading))
            {
                dead.push(format!("{}: {link}: there is no such heading", page.display()));
            }
        }
    }
    assert!(dead.is_empty(), "{}", dead.join("\n"));
}

#[test]
fn the_index_has_every_page() {
    let docs = root().join("docs");
    let index = fs::read_to_string(docs.join("README.md")).expect("the index");
    let listed: HashSet<PathBuf> = links(&index).iter().map(|link| docs.join(link)).collect();
    let missing: Vec<_> = pages_below(&docs)
        .into_iter()
        .filter(|page| *page != docs.join("README.md") && !listed.contains(page))
        .collect();
    assert!(missing.is_empty(), "docs/README.md does not list {missing:?}");
}

/// The paths that a page names: as code in a line, as `capbench-model/src/trial.rs`, at the end of a line between fences, or there
/// indented below their folder.
fn paths(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in prose(text) {
        // Every second part is code within the line.
        for code in line.split('`').skip(1).step_by(2) {
            if code.starts_with("capbench") && code.contains('/') && !code.contains(' ') {
                found.push(code.to_owned());
            }
        }
    }
    let mut folder = "";
    for line in fenced(text) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [only] if only.ends_with('/') => folder = only,
            [name, ..] if line.starts_with("  ") && !folder.is_empty() => {
                found.push(format!("{folder}{name}"))
            }
            [.., last] if last.contains("/src/") => found.push(last.to_owned()),
            _ => {}
        }
    }
    found
}

#[test]
fn every_path_that_the_architecture_names_exists() {
    let root = root();
    let named = paths(&fs::read_to_string(root.join("ARCHITECTURE.md")).expect("the page"));
    assert!(named.len() > 100, "the page is read wrongly: {named:?}");
    let gone: Vec<_> = named
        .iter()
        .filter(|path| !root.join("crates").join(path).exists() && !root.join(path).exists())
        .collect();
    assert!(gone.is_empty(), "ARCHITECTURE.md names what is not there: {gone:?}");
}
