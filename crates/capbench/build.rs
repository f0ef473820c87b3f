//! Tells the program how it was built. What cannot be found out is left out.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the program is built from, below the root of the workspace.
const MANIFESTS: [&str; 2] = ["Cargo.toml", "Cargo.lock"];
const CRATES: &str = "crates";
/// Of a crate.
const SOURCE: [&str; 3] = ["Cargo.toml", "build.rs", "src"];
/// What tests expect, among the source.
const SNAPSHOTS: &str = "snapshots";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for (name, variable) in [("TARGET", "CAPBENCH_TARGET"), ("PROFILE", "CAPBENCH_PROFILE")] {
        tell(variable, std::env::var(name).ok());
    }
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    tell("CAPBENCH_RUSTC", said_by(Command::new(compiler).arg("--version")));
    let root = root();
    tell("CAPBENCH_GIT_COMMIT", root.as_deref().and_then(commit));
    tell("CAPBENCH_SOURCE_HASH", root.as_deref().and_then(source_hash));
}

/// The root of the workspace; `None` for a package that was unpacked without it.
fn root() -> Option<PathBuf> {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let root = folder.parent()?.parent()?;
    MANIFESTS.iter().all(|file| root.join(file).exists()).then(|| root.to_path_buf())
}

fn tell(variable: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo:rustc-env={variable}={value}");
    }
}

/// The commit that is checked out, and whether the source is it. A package that was unpacked inside another repository is
/// none of its commits.
fn commit(root: &Path) -> Option<String> {
    root.join(".git").exists().then_some(())?;
    let git = |arguments: &[&str]| said_by(Command::new("git").current_dir(root).args(arguments));
    // Built anew when another commit is checked out: HEAD or the branch that it names has changed then.
    let head = git(&["rev-parse", "--git-path", "HEAD"])?;
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let branch = branch.and_then(|name| git(&["rev-parse", "--git-path", &name]));
    for file in [Some(head), branch].into_iter().flatten() {
        rerun_if_changed(&root.join(file));
    }
    // What was changed is seen again when a file of the source is: the hash has them looked at.
    let mut looked_at: Vec<String> = MANIFESTS.map(str::to_owned).to_vec();
    looked_at.extend(
        SOURCE.map(|part| format!(":(glob){CRATES}/*/{part}{}", if part == "src" { "/**" } else { "" })),
    );
    looked_at.push(format!(":(exclude,glob){CRATES}/**/{SNAPSHOTS}/**"));
    let looked_at: Vec<&str> = looked_at.iter().map(String::as_str).collect();
    let status = ["--no-optional-locks", "status", "--porcelain", "--untracked-files=no", "--"];
    let changes = git(&[&status[..], &looked_at].concat());
    let mark = if changes.is_some() { "-dirty" } else { "" };
    git(&["rev-parse", "HEAD"]).map(|commit| format!("{commit}{mark}"))
}

/// A hash of what the program is built from, whether or not it was committed. Tells builds apart; guards against nobody.
fn source_hash(root: &Path) -> Option<String> {
    let mut crates: Vec<PathBuf> = children(&root.join(CRATES))?;
    crates.retain(|folder| folder.is_dir());
    let of_crate = |folder: PathBuf| SOURCE.map(|part| folder.join(part)).into_iter().collect::<Vec<_>>();
    let places = MANIFESTS.iter().map(|file| root.join(file)).chain(crates.into_iter().flat_map(of_crate));
    let mut hash = Fnv::new();
    for place in places.filter(|place| place.exists()) {
        println!("cargo:rerun-if-changed={}", place.display());
        add(&mut hash, root, &place)?;
    }
    Some(format!("{:016x}", hash.0))
}

/// Adds a file, or all those in a directory but snapshots of tests, each by its place and its content.
fn add(hash: &mut Fnv, root: &Path, place: &Path) -> Option<()> {
    if place.is_dir() {
        if place.file_name().is_some_and(|name| name == SNAPSHOTS) {
            return Some(());
        }
        return children(place)?.iter().try_for_each(|child| add(hash, root, child));
    }
    let name = place.strip_prefix(root).ok()?.to_string_lossy().into_owned();
    let content = fs::read(place).ok()?;
    for part in [name.as_bytes(), &content] {
        hash.add(&(part.len() as u64).to_le_bytes());
        hash.add(part);
    }
    Some(())
}

/// What a directory holds, in the order of the names.
fn children(folder: &Path) -> Option<Vec<PathBuf>> {
    let mut children: Vec<PathBuf> =
        fs::read_dir(folder).ok()?.map(|entry| Some(entry.ok()?.path())).collect::<Option<_>>()?;
    children.sort();
    Some(children)
}

/// FNV-1a of 64 bits (draft-eastlake-fnv).
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = (self.0 ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

/// A file that does not exist, as a branch that is packed, would have the program built anew every time.
fn rerun_if_changed(file: &Path) {
    if file.exists() {
        println!("cargo:rerun-if-changed={}", file.display());
    }
}

/// The first line that a program writes, where it succeeds.
fn said_by(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned)
}
