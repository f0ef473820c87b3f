//! How the command line presents itself: commands in groups by question, an example for each, and flags that only `--help-all`
//! lists.

use clap::{Arg, ArgAction, Command};

/// Commands that answer one question.
#[derive(Debug)]
pub struct Group {
    /// What the user wants to do.
    pub heading: &'static str,
    /// The commands, each with examples. What follows `#` in an example explains it.
    pub commands: &'static [(&'static str, &'static [&'static str])],
}

/// All visible commands.
pub const GROUPS: &[Group] = &[
    Group {
        heading: "Compare",
        commands: &[
            (
                "bench",
                &[
                    "capbench bench --quick               # which method is best here",
                    "capbench bench --method packet-v3,'cmd:./prog {interface}'",
                ],
            ),
            (
                "compare",
                &[
                    "capbench compare monday tuesday   # two folders of --out",
                    "capbench compare monday tuesday --format html --out compared   # a page with a chart",
                    "capbench compare --dataset fleet --by kernel_release   # on every host of the dataset",
                ],
            ),
            ("export", &["capbench export results/ --to fleet --label campaign=2026w47   # runs as Parquet"]),
        ],
    },
    Group {
        heading: "Find the limit",
        commands: &[
            ("search", &["capbench search --method packet-v3   # highest load without loss, and with 0.5 %"]),
            (
                "sweep",
                &[
                    "capbench sweep work --from ns:0 --to ns:5000   # how much work per packet is possible",
                    "capbench sweep members --rate 2M               # how many threads this load needs",
                ],
            ),
            ("rfc2544", &["capbench rfc2544 --quick --test throughput,latency"]),
            ("agent", &["capbench agent --allow send:eth1   # started by ssh, for --tx ssh:HOST/eth1"]),
            ("soak", &["capbench soak --rate 100k --for 10m --max-loss 0"]),
            (
                "campaign",
                &[
                    "capbench campaign examples/campaign.toml --dry-run   # every run, with its time",
                    "capbench campaign examples/campaign.toml --out lab   # again: only what is missing",
                ],
            ),
        ],
    },
    Group {
        heading: "Capture",
        commands: &[
            (
                "record",
                &[
                    "capbench record -i eth0 -w dns.pcapng udp port 53",
                    "capbench record -i eth0 -w 'day-%H.pcap' -G 3600 -W 24",
                ],
            ),
            (
                "send",
                &[
                    "capbench send -i eth0 --rate 1Gbps --size 512 --duration 10s",
                    "capbench send -i eth0 --replay packets.pcapng --loops 10   # at the times of the file",
                    "capbench send -i eth0 --packet flows.toml --duration 10s   # headers and flows of a file",
                ],
            ),
            (
                "count",
                &["capbench count -i eth0 --each tcp --each 'udp port 53'   # packets and bytes of each"],
            ),
            #[cfg(feature = "otg")]
            ("otg", &["capbench otg --port eth1 --port eth2   # for snappi.api(\"http://127.0.0.1:8443\")"]),
            ("extcap", &["capbench extcap --install   # Wireshark then lists capbench's interfaces"]),
        ],
    },
    Group {
        heading: "Find a loss",
        commands: &[
            (
                "why",
                &[
                    "capbench why           # every interface that somebody captures on",
                    "capbench why -i eth0   # one interface, a line per second",
                ],
            ),
            ("methods", &["capbench methods   # what runs here, and what each method needs"]),
            ("config", &["capbench config show bench   # every flag: its value, and where it is set"]),
        ],
    },
    Group {
        heading: "Check",
        commands: &[
            (
                "tune",
                &[
                    "capbench tune check -i eth0               # what stands against capture; changes nothing",
                    "capbench tune check --run DIR             # what stood against capture in that run",
                    "capbench tune apply -i eth0 --cpus 2-5    # and `capbench tune restore -i eth0`",
                ],
            ),
            (
                "verify",
                &[
                    "capbench verify packets.pcapng*",
                    "capbench verify --trial 7 --frames 100000 packets.pcapng   # frames of `send`",
                ],
            ),
            ("convert", &["capbench convert blocks.verbatim packets.pcapng"]),
            (
                "report",
                &[
                    "capbench report capbench-results/bench-2026-11-20T12-00-00Z --format html",
                    "capbench report --dataset fleet --out page   # trends over the days",
                ],
            ),
        ],
    },
    Group {
        heading: "Publications",
        commands: &[(
            "reproduce",
            &["capbench reproduce dain-2004   # its tables next to those of this host"],
        )],
    },
];

/// Flags that few users need. `--help` leaves them out, `--help-all` and the manual pages list them.
const RARE: &[&str] = &[
    "app-cpu",
    "autostop",
    "block",
    "buffer-size",
    "dain-2004",
    "direct",
    "dst-mac",
    "eal",
    "fanout",
    "file-packets",
    "flow-hash",
    "frame",
    "gen-cpu",
    "geometric",
    "goals",
    "group",
    "immediate-mode",
    "ipv6",
    "kernel-cpu",
    "leave-out",
    "list-data-link-types",
    "list-time-stamp-types",
    "longest-burst",
    "loss-threshold",
    "max-output",
    "members",
    "mode",
    "mtu",
    "no-optimise",
    "no-sync",
    "no-trace",
    "packet-buffered",
    "poisson",
    "preset",
    "programs",
    "quiet",
    "receive-by",
    "refine",
    "repeats",
    "repetitions",
    "retire-timeout",
    "ring-buffer",
    "searches",
    "seed",
    "spin",
    "src-mac",
    "state",
    "tcp",
    "threshold",
    "trace",
    "traffic",
    "transmit",
    "unsorted",
    "wait-loop",
    "worker-queue",
    "worker-wait",
    "workers",
    "write-buffer",
];

/// Flags of tcpdump that users type from habit and that change nothing here, with the reason.
const HABITS: [(&str, char, &str); 10] = [
    ("numeric", 'n', "Numbers instead of names: changes nothing, names are never looked up"),
    ("verbose", 'v', "More words: changes nothing, everything is printed"),
    ("brief", 'q', "Fewer words: changes nothing, no packet is printed"),
    ("link-level", 'e', "Link-level headers: changes nothing, they are always recorded"),
    ("times", 't', "Times of printed packets: changes nothing, no packet is printed"),
    ("ascii", 'A', "Print in ASCII: changes nothing, no packet is printed"),
    ("hex", 'x', "Print in hex: changes nothing, no packet is printed"),
    ("hex-ascii", 'X', "Print in hex and ASCII: changes nothing, no packet is printed"),
    ("absolute-numbers", 'S', "Absolute TCP sequence numbers: changes nothing, no packet is printed"),
    ("line-buffered", 'l', "Whole lines: changes nothing, every line is written at once"),
];

/// What a command's help consists of: its example comes before its usage.
const TEMPLATE: &str = "{about-with-newline}\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// The command line with groups, examples and a short `--help`.
pub fn equipped(cli: Command) -> Command {
    let cli = cli.mut_subcommands(|command| {
        let text = indented(examples(command.get_name()));
        let command = if text.is_empty() { command } else { command.before_help(text) };
        let has_habits = matches!(command.get_name(), "record" | "count");
        let command = if has_habits { command.args(habits()) } else { command };
        with_short_help(command.help_template(TEMPLATE))
    });
    let text = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        grouped(&cli)
    );
    cli.help_template(text)
}

/// The examples of a command; none for a hidden one.
pub fn examples(command: &str) -> &'static [&'static str] {
    let mut all = GROUPS.iter().flat_map(|group| group.commands);
    all.find(|(name, _)| *name == command).map_or(&[], |(_, examples)| examples)
}

/// Examples below a heading.
fn indented(examples: &[&str]) -> String {
    let heading = match examples.len() {
        0 => return String::new(),
        1 => "Example:",
        _ => "Examples:",
    };
    examples.iter().fold(heading.into(), |text: String, example| text + "\n  " + example)
}

/// Every group with its commands, a line each.
fn grouped(cli: &Command) -> String {
    let mut text = String::new();
    for group in GROUPS {
        text += &format!("{}:\n", group.heading);
        for (name, _) in group.commands {
            let about = cli.find_subcommand(name).and_then(Command::get_about);
            text += &format!("  {name:<9}  {}\n", about.map(ToString::to_string).unwrap_or_default());
        }
        text.push('\n');
    }
    text
}

/// Flags that change nothing, and those whose only value is the default.
fn habits() -> impl Iterator<Item = Arg> {
    const HEADING: &str = "As tcpdump has them";
    let letters = HABITS
        .into_iter()
        .map(|(name, letter, help)| Arg::new(name).short(letter).action(ArgAction::Count).help(help));
    let kind = Arg::new("time-stamp-type").short('j').long("time-stamp-type").value_parser(["host"]);
    let named = |name: &'static str| Arg::new(name).long(name);
    let nanoseconds = "Changes nothing, time stamps always have nanoseconds";
    let precision = named("time-stamp-precision").value_parser(["micro", "nano"]).value_name("PRECISION");
    let stamps = [
        kind.value_name("TYPE").help("Time stamps: host, the kernel's clock, is the only type"),
        precision.help(nanoseconds),
        named("micro").action(ArgAction::Count).help(nanoseconds),
        named("nano").action(ArgAction::Count).help(nanoseconds),
    ];
    letters.chain(stamps).map(|arg| arg.help_heading(HEADING).hide_short_help(true))
}

/// Leaves rare flags to `--help-all`, and says how many there are.
fn with_short_help(command: Command) -> Command {
    let is_rare = |arg: &clap::Arg| arg.get_long().is_some_and(|long| RARE.contains(&long));
    let command = command.mut_args(|arg| if is_rare(&arg) { arg.hide_short_help(true) } else { arg });
    let rare = command.get_arguments().filter(|arg| arg.is_hide_short_help_set()).count();
    if rare == 0 {
        return command;
    }
    let (name, after) = (command.get_name(), command.get_after_help().map(ToString::to_string));
    let flags = if rare == 1 { "flag" } else { "flags" };
    let note = format!("{rare} more {flags}: capbench {name} --help-all");
    let short = [after.clone(), Some(note)].into_iter().flatten().collect::<Vec<_>>().join("\n\n");
    let command = command.after_help(short);
    // Without a long text the short one would be printed.
    command.after_long_help(after.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::{GROUPS, RARE, equipped, grouped};
    use crate::Cli;

    /// Words as a shell splits them, without a comment.
    fn words(example: &str) -> Vec<String> {
        let line = example.split(" #").next().unwrap_or_default();
        let mut words = vec![String::new()];
        let mut is_quoted = false;
        for letter in line.trim().chars() {
            match letter {
                '\'' => is_quoted = !is_quoted,
                ' ' if !is_quoted => words.push(String::new()),
                other => words.last_mut().unwrap().push(other),
            }
        }
        words
    }

    #[test]
    fn every_command_is_in_one_group_and_its_examples_are_command_lines_of_it() {
        let mut named = BTreeSet::new();
        for (name, examples) in GROUPS.iter().flat_map(|group| group.commands) {
            assert!(named.insert(name.to_string()), "{name} is listed twice");
            assert!(!examples.is_empty(), "{name} has no example");
            for example in *examples {
                let words = words(example);
                assert_eq!(words[..2], ["capbench", *name], "{example}");
                equipped(Cli::command())
                    .try_get_matches_from(words)
                    .unwrap_or_else(|error| panic!("{example}: {error}"));
                assert!(example.chars().count() <= 88, "{example}");
            }
        }
        let cli = Cli::command();
        let shown = cli.get_subcommands().filter(|command| !command.is_hide_set());
        assert_eq!(named, shown.map(|command| command.get_name().to_string()).collect());
        let lines = grouped(&cli);
        assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
    }

    #[test]
    fn the_readme_has_the_same_groups_and_commands_in_the_same_order() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md");
        let text = std::fs::read_to_string(readme).unwrap();
        let table = text.split("\n## ").find(|section| section.starts_with("Commands\n")).unwrap();
        let mut found: Vec<(String, Vec<String>)> = Vec::new();
        for row in table.lines() {
            if let Some(heading) = row.strip_prefix("| **").and_then(|rest| rest.strip_suffix("** | |")) {
                found.push((heading.into(), Vec::new()));
            } else if let Some((_, commands)) = found.last_mut() {
                for part in row.split("`capbench ").skip(1) {
                    let name: String = part.chars().take_while(char::is_ascii_alphanumeric).collect();
                    // A command that has an earlier row is listed there.
                    if !commands.contains(&name) {
                        commands.push(name);
                    }
                }
            }
        }
        let groups = GROUPS.iter().map(|group| {
            let names = group.commands.iter().map(|(name, _)| name.to_string());
            (group.heading.to_string(), names.collect::<Vec<_>>())
        });
        assert_eq!(found, groups.collect::<Vec<_>>());
    }

    #[test]
    fn rare_flags_exist_and_only_help_all_lists_them() {
        let cli = equipped(Cli::command());
        let has = |flag: &str| {
            cli.get_subcommands()
                .any(|command| command.get_arguments().any(|arg| arg.get_long() == Some(flag)))
        };
        for flag in RARE {
            assert!(has(flag), "no command has --{flag}");
        }
        let mut record = cli.find_subcommand("record").unwrap().clone();
        let (short, long) = (record.render_help().to_string(), record.render_long_help().to_string());
        assert!(!short.contains("--eal") && short.contains("record --help-all"), "{short}");
        assert!(long.contains("--eal") && !long.contains(" more flag"), "{long}");
    }
}
