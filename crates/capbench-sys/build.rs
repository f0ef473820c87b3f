//! Builds the C shim of DPDK where the feature asks for it; without, there is nothing to build.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "dpdk")]
    dpdk::build();
}

#[cfg(feature = "dpdk")]
mod dpdk {
    use std::process::Command;

    /// The libraries that the shim calls. pkg-config names all of DPDK's, most of which nothing here uses; drivers are
    /// plugins that DPDK loads by itself.
    const LIBRARIES: [&str; 4] = ["rte_ethdev", "rte_mbuf", "rte_mempool", "rte_eal"];

    /// Compiles src/dpdk/shim.c with DPDK's own compiler flags (its headers need them, `-include` among them, which is
    /// why they are passed as words) and links DPDK's shared libraries.
    pub fn build() {
        println!("cargo::rerun-if-changed=src/dpdk/shim.c");
        println!("cargo::rerun-if-changed=src/dpdk/shim.h");
        println!("cargo::rerun-if-env-changed=PKG_CONFIG_PATH");
        let mut shim = cc::Build::new();
        for flag in pkg_config(&["--cflags"]) {
            shim.flag(flag);
        }
        // Warnings of DPDK's headers are not ours.
        shim.file("src/dpdk/shim.c")
            .std("gnu11")
            .warnings(false)
            .flag("-Wall")
            .flag("-Wextra")
            .flag("-Wno-unused-parameter");
        shim.compile("capbench_dpdk_shim");
        for flag in pkg_config(&["--libs-only-L"]) {
            println!("cargo::rustc-link-search=native={}", flag.trim_start_matches("-L"));
        }
        for library in LIBRARIES {
            println!("cargo::rustc-link-lib=dylib={library}");
        }
    }

    /// What pkg-config says of libdpdk, word by word.
    fn pkg_config(question: &[&str]) -> Vec<String> {
        const ADVICE: &str = "the feature dpdk needs DPDK 21.11 or later: install libdpdk-dev and pkg-config";
        let answer = Command::new("pkg-config")
            .args(question)
            .arg("libdpdk >= 21.11")
            .output()
            .unwrap_or_else(|error| panic!("pkg-config: {error}; {ADVICE}"));
        assert!(answer.status.success(), "{}; {ADVICE}", String::from_utf8_lossy(&answer.stderr).trim());
        String::from_utf8_lossy(&answer.stdout).split_whitespace().map(String::from).collect()
    }
}
