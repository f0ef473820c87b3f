//! Settings in files and variables: what they change, how they are refused, and whose files count.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::support::results_file::assert_valid_output;
use crate::support::{Ended, HOST, Scratch, capbench, privileges, program, results, run, scratch_of_root};

/// A home with settings of the user.
struct Home(Scratch);

impl Home {
    fn with(text: &str) -> Self {
        let scratch = Scratch::new();
        fs::create_dir(scratch.file("capbench")).unwrap();
        fs::write(scratch.file("capbench/lab.toml"), text).unwrap();
        Self(scratch)
    }

    fn command(&self, arguments: &str) -> Command {
        let mut command = capbench(arguments);
        command.env("XDG_CONFIG_HOME", self.0.path()).env_remove("COLUMNS");
        // cargo gives tests what the build script found.
        let found = std::env::vars_os().map(|(name, _)| name);
        for name in found.filter(|name| name.to_string_lossy().starts_with("CAPBENCH_")) {
            command.env_remove(name);
        }
        command
    }

    fn run(&self, arguments: &str) -> Ended {
        run(HOST, self.command(arguments))
    }
}

#[test]
fn flags_win_over_variables_and_variables_over_files() {
    let home = Home::with("[bench]\nsize = [64, 512]\nvisits = 3\n");
    let planned = home.run("bench --dry-run").success().out;
    assert!(
        planned.contains("frame sizes 64, 512\n") && planned.contains("visits      3 of every"),
        "{planned}"
    );
    let planned = run(HOST, home.command("bench --dry-run").env("CAPBENCH_BENCH_VISITS", "4")).success().out;
    assert!(
        planned.contains("frame sizes 64, 512\n") && planned.contains("visits      4 of every"),
        "{planned}"
    );
    let planned =
        run(HOST, home.command("bench --dry-run --visits 5").env("CAPBENCH_VISITS", "4")).success().out;
    assert!(planned.contains("visits      5 of every"), "{planned}");

    let shown = run(HOST, home.command("config show").env("CAPBENCH_VISITS", "4")).success().out;
    let file = format!("{}/capbench/lab.toml", home.0.path().display());
    let lines: Vec<_> =
        shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
    for line in ["bench --visits 4 CAPBENCH_VISITS".into(), format!("bench --size 64,512 {file}:2")] {
        assert!(lines.contains(&line), "{line}: {shown}");
    }
    let document = home.run("config show bench --json").success().json();
    assert_valid_output("config", &document);
    let flags = document["flags"].as_array().unwrap();
    let size = flags.iter().find(|flag| flag["flag"] == "size").unwrap();
    assert_eq!(size["origin"], serde_json::json!({"kind": "file", "path": file, "line": 2}));
    assert!(flags.iter().any(|flag| flag["flag"] == "rate" && flag["origin"].is_null()));
    assert_eq!(home.run("config check").success().out, "No mistake in 1 file with 2 settings.\n");
}

#[test]
fn a_mistake_is_refused_in_one_line_and_help_is_not() {
    let home = Home::with("\n[bench]\nsize = \"6x\"\n");
    let file = format!("{}/capbench/lab.toml", home.0.path().display());
    let refused = home.run("bench --dry-run");
    assert_eq!((refused.code, refused.out.as_str(), refused.errors.lines().count()), (Some(2), "", 1));
    let expected = format!("capbench: {file}:3: size: invalid value '6x' for '--size <LIST>': ");
    assert!(refused.errors.starts_with(&expected), "{refused:#?}");
    assert_eq!(home.run("config check").code, Some(2));
    // It concerns bench only.
    home.run("methods").success();
    home.run("bench --help").success();

    let home = Home::with("nonsense = 1\n");
    for line in ["methods", "bench --dry-run", "config show"] {
        let refused = home.run(line);
        assert!(
            refused.code == Some(2) && refused.errors.contains("lab.toml:1: nonsense: no command"),
            "{refused:#?}"
        );
    }
    home.run("--help").success();
    home.run("bench --help").success();
    home.run("--version").success();

    // What only the command finds names the setting, too.
    let home = Home::with("[bench]\nring = \"1MiB\"\n");
    let refused = home.run("bench --dry-run --method pf-ring");
    assert_eq!(refused.code, Some(2));
    assert!(refused.errors.contains("--ring has no effect on pf-ring"), "{refused:#?}");
    assert!(refused.errors.contains("lab.toml:2)"), "{refused:#?}");
}

#[test]
fn an_agent_has_the_limits_of_its_command_line_alone() {
    let home = Home::with("allow = \"send:eth1\"\n");
    let refused = home.run("bench --dry-run");
    assert!(refused.errors.contains("allow: no command has a flag --allow"), "{refused:#?}");
    let home = Home::with("[agent]\nallow = \"send:eth1\"\nmax-rate = \"20M\"\n");
    let refused = home.run("bench --dry-run");
    assert!(refused.errors.contains("no file and no variable may widen it"), "{refused:#?}");
    // The agent reads neither: what it needs is missing.
    let mut command = home.command("agent");
    let refused =
        run(HOST, command.env("CAPBENCH_AGENT_ALLOW", "send:eth1").env("CAPBENCH_ALLOW", "send:eth1"));
    assert!(refused.code == Some(2) && refused.errors.contains("--allow <WHAT>"), "{refused:#?}");
}

#[test]
fn root_results_have_the_complete_command_line() {
    let Some(scratch) = scratch_of_root() else { return };
    let home = Home::with("[soak]\nrate = \"2k\"\ninterval = \"500ms\"\nmax-loss = 0.9\n");
    let out = scratch.file("run");
    let ended = run(HOST, home.command("soak --for 1s --out").arg(&out));
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let saved = results(&out).unwrap();
    let words: Vec<_> =
        saved["command"].as_array().unwrap().iter().skip(1).map(|word| word.as_str().unwrap()).collect();
    let out = out.to_str().unwrap();
    assert_eq!(
        words,
        ["soak", "--interval=500ms", "--max-loss=0.9", "--rate=2k", "--for", "1s", "--out", out]
    );
    assert_eq!(saved["exit_code"].as_i64(), ended.code.map(i64::from));
}

#[test]
fn root_settings_that_others_can_write_are_refused_for_root_alone() {
    let Some(()) = privileges() else { return };
    let home = Home::with("[bench]\nvisits = 3\n");
    fs::set_permissions(home.0.file("capbench/lab.toml"), PermissionsExt::from_mode(0o666)).unwrap();
    let refused = home.run("bench --dry-run");
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    for part in ["lab.toml may be written by everybody", "only settings that root alone can write"] {
        assert!(refused.errors.contains(part), "{refused:#?}");
    }
    // In a sticky folder, a file of any user would stop root's commands.
    fs::set_permissions(home.0.file("capbench/lab.toml"), PermissionsExt::from_mode(0o644)).unwrap();
    fs::set_permissions(home.0.file("capbench"), PermissionsExt::from_mode(0o1777)).unwrap();
    let refused = home.run("bench --dry-run");
    assert_eq!(refused.code, Some(2), "{refused:#?}");
    assert!(refused.errors.contains("capbench may be written by everybody"), "{refused:#?}");
    // The user's own matter.
    let home_of_all = Scratch::of_nobody();
    fs::create_dir(home_of_all.file("capbench")).unwrap();
    fs::write(home_of_all.file("capbench/lab.toml"), "[bench]\nvisits = 3\n").unwrap();
    fs::set_permissions(home_of_all.file("capbench/lab.toml"), PermissionsExt::from_mode(0o666)).unwrap();
    let mut command = program("setpriv --reuid 65534 --regid 65534 --clear-groups");
    command.env("XDG_CONFIG_HOME", home_of_all.path());
    let planned = run(HOST, command.args([env!("CARGO_BIN_EXE_capbench"), "bench", "--dry-run"]));
    assert!(planned.success().out.contains("visits      3 of every"));
}

#[test]
fn root_files_of_the_host_come_first_in_the_order_of_their_names() {
    let Some(()) = privileges() else { return };
    let home = Home::with("[bench]\nvisits = 3\n");
    let script = "mount -t tmpfs none /etc && mkdir /etc/capbench && cd /etc/capbench && \
                  printf 'visits = 7\\nrepeats = 7\\nflows = 7\\n' >10.toml && printf 'repeats = 8\\n' >9.toml && \
                  ln -s ../linked 8.toml && echo 'vlan = 5' >../linked && exec \"$@\"";
    let mut command = program("unshare --mount --propagation private sh -c");
    command.arg(script).arg("sh").arg(env!("CARGO_BIN_EXE_capbench")).args(["config", "show"]);
    let shown = run(HOST, command.env("XDG_CONFIG_HOME", home.0.path())).success().out;
    let lines: Vec<_> = shown.lines().filter(|line| line.starts_with("bench ")).collect();
    let find = |flag: &str| {
        let line = lines.iter().find(|line| line.split_whitespace().nth(1) == Some(flag)).unwrap();
        line.split_whitespace().skip(2).collect::<Vec<_>>().join(" ")
    };
    assert!(find("--visits").starts_with("3 ") && find("--visits").ends_with("lab.toml:2"), "{shown}");
    assert_eq!(find("--flows"), "7 /etc/capbench/10.toml:3");
    assert_eq!(find("--repeats"), "8 /etc/capbench/9.toml:1");
    assert_eq!(find("--vlan"), "5 /etc/capbench/8.toml:1");
}
