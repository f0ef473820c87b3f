//! How this program was built. The build script collects it.

use capbench_model::environment::program::Program;

/// Optional features, and whether this build has them.
const fn features() -> [(&'static str, bool); 4] {
    [
        ("bpf", cfg!(feature = "bpf")),
        ("dpdk", cfg!(feature = "dpdk")),
        ("metrics", cfg!(feature = "metrics")),
        ("otg", cfg!(feature = "otg")),
    ]
}

/// The build, for the results.
pub fn program() -> Program {
    let features = features();
    let on = features.iter().filter(|(_, on)| *on).map(|(name, _)| (*name).to_owned());
    let text = |value: Option<&str>| value.map(str::to_owned);
    Program {
        git_commit: text(option_env!("CAPBENCH_GIT_COMMIT")),
        source_hash: text(option_env!("CAPBENCH_SOURCE_HASH")),
        target: text(option_env!("CAPBENCH_TARGET")),
        profile: text(option_env!("CAPBENCH_PROFILE")),
        features: Some(on.collect()),
        rustc: text(option_env!("CAPBENCH_RUSTC")),
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_build_is_known() {
        let program = super::program();
        assert!(program.target.is_some_and(|target| target.contains("linux")));
        assert!(program.rustc.is_some_and(|rustc| rustc.starts_with("rustc ")));
        assert!(matches!(program.profile.as_deref(), Some("debug" | "release")));
        assert!(program.git_commit.is_none_or(|commit| commit.trim_end_matches("-dirty").len() >= 40));
        let is_hash = |hash: String| hash.len() == 16 && u64::from_str_radix(&hash, 16).is_ok();
        assert!(program.source_hash.is_none_or(is_hash));
    }

    #[test]
    fn every_feature_of_this_program_is_known() {
        let manifest = include_str!("../Cargo.toml");
        let section = manifest.split("[features]").nth(1).unwrap().split("\n[").next().unwrap();
        let named = section.lines().filter_map(|line| line.split_once(" = ")).map(|(name, _)| name);
        let named: Vec<&str> = named.filter(|name| *name != "default").collect();
        assert_eq!(named, super::features().map(|(name, _)| name));
    }
}
