//! Compiles the BPF programs of a crate for its feature `bpf`: called by the build scripts of the crates that have some.
//! Without the feature it does nothing and needs nothing.
//!
//! The programs become objects in `OUT_DIR`, which the crate takes in and gives to libbpf. The compiler is clang, or
//! what the environment variable `CLANG` names. `bpf/bpf_helpers.h` is that of the libbpf which the program links
//! (`DEP_BPF_INCLUDE`, from libbpf-sys), the rest comes from the system's kernel headers.

#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, exit};

/// Compiles `*.bpf.c` of a folder of the crate whose build script calls this.
pub fn compile_folder(folder: &str) {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_BPF").is_none() {
        return;
    }
    println!("cargo::rerun-if-changed={folder}");
    println!("cargo::rerun-if-env-changed=CLANG");
    let entries = Path::new(folder).read_dir().unwrap_or_else(|error| fail(&format!("{folder}: {error}")));
    for path in entries.map_while(Result::ok).map(|entry| entry.path()) {
        if path.to_string_lossy().ends_with(".bpf.c") {
            compile(&path);
        }
    }
}

/// Makes `NAME.bpf.o` of `NAME.bpf.c`.
fn compile(source: &Path) {
    let clang = std::env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let object = PathBuf::from(environment("OUT_DIR")).join(source.with_extension("o").file_name().unwrap());
    let mut command = Command::new(&clang);
    let headers = environment("DEP_BPF_INCLUDE");
    // -g is for BTF, without which libbpf refuses maps; the paths in it are not to be those of the build.
    command.args(["-target", "bpf", "-g", "-O2", "-Wall", "-Werror", "-fno-stack-protector"]);
    for (path, name) in [(&environment("CARGO_MANIFEST_DIR"), "."), (&headers, "libbpf")] {
        command.arg(format!("-ffile-prefix-map={path}={name}"));
    }
    // Atomic operations that return a value are of the third generation of instructions.
    command.args(["-mcpu=v3", "-I", &headers]);
    // Debian keeps asm/types.h where only a compiler for the host looks.
    command.arg("-idirafter").arg(format!("/usr/include/{}-linux-gnu", environment("CARGO_CFG_TARGET_ARCH")));
    let output = command.arg("-c").arg(source).arg("-o").arg(&object).output();
    match output {
        Ok(output) if output.status.success() => {}
        Ok(output) => fail(&format!(
            "{} does not compile: {}",
            source.display(),
            String::from_utf8_lossy(&output.stderr).trim()
        )),
        Err(error) => fail(&format!(
            "the feature `bpf` needs clang and cannot run {}: {error}. Install it (tools/setup build), name another by \
             CLANG=, or build without: --no-default-features",
            clang.display()
        )),
    }
}

fn environment(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|error| fail(&format!("{name}: {error}")))
}

fn fail(reason: &str) -> ! {
    for line in reason.lines() {
        println!("cargo::error={line}");
    }
    exit(1)
}
