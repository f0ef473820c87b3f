use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;

use capbench_testing::Scratch;
use clap::{Command, CommandFactory};
use proptest::prelude::*;

use super::{Configuration, Line, Sources, settable};
use crate::{Cli, help};

fn cli() -> Command {
    help::equipped(Cli::command())
}

/// Folders of the host and the user with files, and variables.
struct Host {
    scratch: Scratch,
    sources: Sources,
}

impl Host {
    fn with(files: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        let scratch = Scratch::new();
        let folders: Vec<PathBuf> = ["etc", "user"].map(|name| scratch.path().join(name)).into();
        folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        for (name, text) in files {
            fs::write(scratch.path().join(name), text).unwrap();
        }
        let environment = variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { scratch, sources: Sources { folders, environment } }
    }

    fn read(&self) -> anyhow::Result<Configuration> {
        Configuration::read(&cli(), &self.sources)
    }

    fn line(&self, typed: &str) -> anyhow::Result<Line> {
        let words = typed.split(' ').map(OsString::from).collect();
        self.read()?.complete(&cli(), words)
    }

    /// The completed command line, which clap accepts.
    fn completed(&self, typed: &str) -> String {
        let words = self.line(typed).unwrap().words;
        Cli::read(words.clone()).unwrap_or_else(|error| panic!("{words:?}: {error}"));
        words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
    }

    /// The refusal, without the folder of this test.
    fn refusal(&self, typed: &str) -> String {
        let error = self.line(typed).unwrap_err().to_string();
        error.replace(&format!("{}/", self.scratch.path().display()), "")
    }
}

fn refusal(text: &str, typed: &str) -> String {
    Host::with(&[("etc/lab.toml", text)], &[]).refusal(typed)
}

#[test]
fn settings_are_written_in_front_of_what_the_user_types() {
    let lab =
        "details = true\nsize = [64, 1518]\n[bench]\nvisits = 3\nno-trace = false\n[record]\nzstd = true\n";
    let host = Host::with(&[("etc/lab.toml", lab)], &[]);
    assert_eq!(
        host.completed("capbench bench --method recv"),
        "capbench bench --details --size=64 --size=1518 --visits=3 --method recv"
    );
    assert_eq!(
        host.completed("capbench bench --size imix"),
        "capbench bench --details --visits=3 --size imix"
    );
    assert_eq!(host.completed("capbench record -i lo -w x"), "capbench record --zstd -i lo -w x");
    assert_eq!(host.completed("capbench methods"), "capbench methods");
    assert_eq!(host.line("capbench").unwrap().words.len(), 1, "no command");
}

#[test]
fn later_files_and_narrower_names_win() {
    let files = [
        ("etc/a.toml", "visits = 2\nsize = 64\n"),
        ("etc/b.toml", "[bench]\nvisits = 3\n[sweep]\nvisits = 4\n"),
        ("user/a.toml", "[bench]\nsize = []\n"),
        ("user/notes.txt", "this is no TOML"),
        ("user/.hidden.toml", "neither is this"),
    ];
    let host = Host::with(&files, &[]);
    assert_eq!(host.completed("capbench bench"), "capbench bench --visits=3");
    assert_eq!(host.completed("capbench sweep work"), "capbench sweep --size=64 --visits=4 work");
    let host = Host::with(&files, &[("CAPBENCH_VISITS", "5"), ("CAPBENCH_SWEEP_VISITS", "6")]);
    assert_eq!(host.completed("capbench bench"), "capbench bench --visits=5");
    assert_eq!(host.completed("capbench sweep work"), "capbench sweep --size=64 --visits=6 work");
}

#[test]
fn a_setting_gives_way_to_a_flag_that_excludes_it_or_that_it_needs() {
    let host = Host::with(&[("etc/lab.toml", "ring = \"8MiB\"\nisolated = true\nmtu = 9000\n")], &[]);
    assert_eq!(host.completed("capbench bench"), "capbench bench --mtu=9000 --ring=8MiB");
    assert_eq!(host.completed("capbench bench -B 4096"), "capbench bench --mtu=9000 -B 4096");
    assert_eq!(
        host.completed("capbench bench --tx a --rx b"),
        "capbench bench --isolated --ring=8MiB --tx a --rx b"
    );
    // A run is resumed with its own flags.
    assert_eq!(host.completed("capbench search --resume x"), "capbench search --resume x");
    // Between settings, the stronger one stays.
    let files = [("etc/lab.toml", "ring = \"8MiB\"\n"), ("user/lab.toml", "buffer-size = 4096\n")];
    assert_eq!(Host::with(&files, &[]).completed("capbench bench"), "capbench bench --buffer-size=4096");
    let both = refusal("ring = \"8MiB\"\nbuffer-size = 4096\n", "capbench bench");
    assert!(both.contains("etc/lab.toml:") && both.contains("cannot be used together with"), "{both}");
    // What completes a command line that lacks a flag is part of it.
    let host = Host::with(&[("etc/lab.toml", "[soak]\nrate = \"100k\"\n[bench]\nrx = \"b\"\n")], &[]);
    assert_eq!(host.completed("capbench soak --for 10m"), "capbench soak --rate=100k --for 10m");
    assert_eq!(host.completed("capbench bench --tx a"), "capbench bench --rx=b --tx a");
    assert_eq!(host.completed("capbench bench"), "capbench bench");
}

#[test]
fn mistakes_name_the_file_the_line_and_what_may_be_there() {
    for (text, expected) in [
        ("size = 64\nsiez = 64\n", "etc/lab.toml:2: siez: no command has a flag --siez; did you mean size?"),
        ("[bnech]\nsize = 64\n", "etc/lab.toml:2: [bnech]: no command of this name; did you mean bench?"),
        ("[bench]\n\ngoal = 1\n", "etc/lab.toml:3: goal: capbench bench has no flag --goal"),
        (
            "methods = \"recv\"\n",
            "etc/lab.toml:1: methods: no command has a flag --methods; did you mean method?",
        ),
        ("size = 6x\n", "etc/lab.toml:1: no TOML: "),
        (
            "size = 2026-11-25\n",
            "etc/lab.toml:1: size: a value is a string, a number, true, false, or a list",
        ),
        ("[bench.size]\na = 1\n", "etc/lab.toml:1: size: a value is a string"),
        ("size = \"6x\"\n", "etc/lab.toml:1: size: invalid value '6x' for '--size <LIST>': "),
        (
            "\nplacement = \"smae\"\n",
            "etc/lab.toml:2: placement: invalid value 'smae' for '--placement <LIST>': ",
        ),
        ("details = 1\n", "etc/lab.toml:1: details: \"1\" is neither true nor false"),
        (
            "quiet = [\"1s\", \"2s\"]\n",
            "etc/lab.toml:1: quiet: it is a list of 2, and the flag takes one value",
        ),
        ("help = true\n", "etc/lab.toml:1: help: it cannot be set: it ends every command"),
        ("[search]\nresume = \"x\"\n", "etc/lab.toml:2: resume: it cannot be set: it names one run"),
        (
            "[agent]\nallow = \"send:eth1\"\n",
            "etc/lab.toml:2: flags of agent cannot be set: its command line is all",
        ),
        ("[generate]\nwhat = \"man\"\n", "etc/lab.toml:2: flags of generate cannot be set: it writes"),
        ("allow = \"send:eth1\"\n", "etc/lab.toml:1: allow: no command has a flag --allow"),
    ] {
        let said = refusal(text, "capbench bench");
        assert!(said.starts_with(expected), "{text}: {said}");
    }
}

#[test]
fn variables_of_other_meanings_are_no_settings() {
    let refusal = |name: &str| Host::with(&[], &[(name, "1")]).refusal("capbench bench");
    let typo = refusal("CAPBENCH_BENCH_VISIST");
    assert!(typo.contains("no flag of this name; did you mean CAPBENCH_BENCH_VISITS?"), "{typo}");
    assert!(refusal("CAPBENCH_AGENT_ALLOW").contains("no file and no variable may widen it"));
    let wrong = Host::with(&[], &[("CAPBENCH_VISITS", "x")]).refusal("capbench bench");
    assert!(wrong.starts_with("CAPBENCH_VISITS: visits: invalid value 'x' for '--visits"), "{wrong}");
    let host = Host::with(&[], &[("CAPBENCH_VERSION", "1.0"), ("CAPBENCH_SIEZ", "64"), ("CAPBENCH_", "")]);
    assert_eq!(host.completed("capbench bench"), "capbench bench");
    let others = host.read().unwrap().others;
    assert!(others.contains(&("CAPBENCH_SIEZ".into(), Some("CAPBENCH_SIZE".into()))), "{others:?}");
    assert_eq!(host.completed("capbench agent --allow send:eth1"), "capbench agent --allow send:eth1");
}

#[test]
fn no_variable_of_this_project_is_named_like_a_setting() {
    let names: BTreeSet<String> = settable::variables(&cli()).into_keys().collect();
    let root = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let mut folders: Vec<PathBuf> = ["crates", "tools", "fuzz"].map(|name| root.join(name)).into();
    let mut files = vec![root.join("check"), root.join("Makefile"), root.join("CONTRIBUTING.md")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let is_of_settings = path.ends_with("configuration") || path.ends_with("configuration.rs");
            match (path.is_dir(), path.file_name().and_then(|name| name.to_str())) {
                (true, Some("target" | "corpus" | ".git")) => {}
                (true, _) if !is_of_settings => folders.push(path),
                (false, _) if !is_of_settings => files.push(path),
                _ => {}
            }
        }
    }
    let mut found = BTreeSet::new();
    for file in files {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        for (place, _) in text.match_indices(settable::PREFIX) {
            let is_of_name =
                |letter: &char| letter.is_ascii_uppercase() || letter.is_ascii_digit() || *letter == '_';
            found.insert(text[place..].chars().take_while(is_of_name).collect::<String>());
        }
    }
    assert!(found.contains("CAPBENCH_MUST_RUN"), "{found:?}");
    assert_eq!(found.intersection(&names).collect::<Vec<_>>(), [] as [&String; 0]);
    // No variable has two meanings.
    let cli = cli();
    let shown = || {
        settable::commands(&cli)
            .flat_map(|command| settable::shown(command).map(move |(flag, _)| (command, flag)))
    };
    let narrow = shown().map(|(command, flag)| format!("{}-{flag}", command.get_name()));
    let wide: BTreeSet<&str> = shown().map(|(_, flag)| flag).collect();
    assert_eq!(narrow.filter(|name| wide.contains(name.as_str())).collect::<Vec<_>>(), [] as [String; 0]);
}

#[test]
fn help_shows_what_is_set() {
    let host = Host::with(&[("etc/lab.toml", "[bench]\nvisits = 3\n")], &[]);
    let mut cli = host.read().unwrap().explained(cli(), "bench");
    let help = cli.find_subcommand_mut("bench").unwrap().render_long_help().to_string();
    let words = help.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("[set: 3, by ") && words.contains("etc/lab.toml:2]"), "{words}");
}

/// The flags of the property, which exclude no other.
const FLAGS: [&str; 3] = ["visits", "repeats", "flows"];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// For each flag a value, or none, in each of the seven places, weakest first.
    #[test]
    fn flags_win_over_variables_over_the_users_files_over_the_hosts(
        values in proptest::collection::vec(proptest::collection::vec(proptest::option::of(1u16..900), 7), 3),
    ) {
        let of = |place: usize| FLAGS.iter().zip(&values).filter_map(move |(flag, all)| Some((*flag, all[place]?)));
        let keys = |place: usize| of(place).map(|(flag, value)| format!("{flag} = {value}\n")).collect::<String>();
        let file = |wide: usize| format!("{}[bench]\n{}", keys(wide), keys(wide + 1));
        let (etc, user) = (file(0), file(2));
        let named = |prefix: &str, place: usize| -> Vec<(String, String)> {
            of(place).map(|(flag, value)| (format!("{prefix}{}", flag.to_uppercase()), value.to_string())).collect()
        };
        let variables = [named("CAPBENCH_", 4), named("CAPBENCH_BENCH_", 5)].concat();
        let variables: Vec<(&str, &str)> =
            variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let host = Host::with(&[("etc/a.toml", &etc), ("user/a.toml", &user)], &variables);
        let typed: String = of(6).map(|(flag, value)| format!(" --{flag} {value}")).collect();
        let line = host.line(&format!("capbench bench{typed}")).unwrap();
        let matches = cli().try_get_matches_from(line.words).unwrap();
        let matches = matches.subcommand_matches("bench").unwrap();
        for (flag, all) in FLAGS.iter().zip(&values) {
            if let Some(expected) = all.iter().rev().find_map(|value| *value) {
                let found = matches.get_raw(flag).unwrap().next().unwrap().to_str().unwrap();
                prop_assert_eq!(found, expected.to_string(), "{} of {:?}", flag, all);
            }
        }
    }
}
