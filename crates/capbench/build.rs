//! Tells the program how it was built. What cannot be found out is left out.

use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for (name, variable) in [("TARGET", "CAPBENCH_TARGET"), ("PROFILE", "CAPBENCH_PROFILE")] {
        tell(variable, std::env::var(name).ok());
    }
    let compiler = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    tell("CAPBENCH_RUSTC", said_by(Command::new(compiler).arg("--version")));
    tell("CAPBENCH_GIT_COMMIT", commit());
}

fn tell(variable: &str, value: Option<String>) {
    if let Some(value) = value {
        println!("cargo:rustc-env={variable}={value}");
    }
}

/// The commit that is checked out. A package that was unpacked inside another repository is none of its commits.
fn commit() -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR")?);
    let root = folder.parent()?.parent()?;
    root.join(".git").exists().then_some(())?;
    let git = |arguments: &[&str]| said_by(Command::new("git").current_dir(root).args(arguments));
    // Built anew when another commit is checked out: HEAD or the branch that it names has changed then.
    let head = git(&["rev-parse", "--git-path", "HEAD"])?;
    let branch = git(&["symbolic-ref", "--quiet", "HEAD"]);
    let branch = branch.and_then(|name| git(&["rev-parse", "--git-path", &name]));
    for file in [Some(head), branch].into_iter().flatten() {
        rerun_if_changed(&root.join(file));
    }
    git(&["rev-parse", "HEAD"])
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
