//! What a user gets for mistakes: one clear line, the right exit code, and nothing made. And what help says.

use std::process::Output;

use crate::support::{
    HOST, Namespaces, PATIENCE, Running, Scratch, capbench, lossy, privileges, run, test_bed,
};
use assert_cmd::Command;

const FAILED: i32 = 1;
const USAGE: i32 = 2;
const PRIVILEGE: i32 = 6;

/// Runs `capbench` in an empty folder, which has to stay empty.
fn outcome(arguments: &str) -> Output {
    let folder = Scratch::new();
    let mut command = Command::new(env!("CARGO_BIN_EXE_capbench"));
    // The width of help does not follow the terminal of whoever runs the tests.
    command.current_dir(folder.path()).timeout(PATIENCE).env_remove("COLUMNS");
    let output = command.args(arguments.split_whitespace()).output().unwrap();
    assert_eq!(folder.entries(), [] as [String; 0], "`capbench {arguments}` made something");
    output
}

/// Asserts that a command line is refused in one line that has these parts.
fn refused(code: i32, arguments: &str, parts: &[&str]) {
    let output = outcome(arguments);
    assert_refusal(
        &format!("capbench {arguments}"),
        code,
        output.status.code(),
        &lossy(&output.stderr),
        parts,
    );
    assert_eq!(lossy(&output.stdout), "", "`capbench {arguments}` prints no result");
}

fn assert_refusal(what: &str, expected: i32, code: Option<i32>, errors: &str, parts: &[&str]) {
    assert_eq!(code, Some(expected), "`{what}`: {errors}");
    assert_eq!(errors.lines().count(), 1, "`{what}` says one line: {errors}");
    assert!(errors.starts_with("capbench: "), "`{what}`: {errors}");
    for part in parts {
        assert!(errors.contains(part), "`{what}` says {part:?}: {errors}");
    }
}

/// What `capbench` prints where nothing is wrong.
fn printed(arguments: &str) -> String {
    let output = outcome(arguments);
    let errors = lossy(&output.stderr);
    assert_eq!((output.status.code(), errors.as_str()), (Some(0), ""), "capbench {arguments}");
    lossy(&output.stdout)
}

#[test]
fn names_that_nothing_has_are_refused_with_those_that_there_are() {
    refused(USAGE, "bench --method packet-v4", &["packet-v4", "recvmmsg", "packet-v3"]);
    refused(USAGE, "bench --method recv,nonsense", &["nonsense"]);
    refused(USAGE, "count -i lo --method packet-v4", &["packet-v4", "packet-v3"]);
    refused(USAGE, "bench --transmit dpdk", &["dpdk", "packet-tx"]);
    refused(USAGE, "bench --placement elsewhere", &["elsewhere", "same", "other"]);
    refused(USAGE, "bench --work sleep:3", &["sleep:3", "loop:N"]);
    refused(USAGE, "count -i lo -Q sideways", &["sideways", "inout"]);
    refused(USAGE, "bench --no-such-flag", &["--no-such-flag"]);
    refused(USAGE, "measure", &["measure"]);
}

#[test]
fn a_name_almost_right_is_answered_with_the_right_one() {
    refused(USAGE, "bnech", &["did you mean bench?"]);
    refused(USAGE, "bench --qick", &["did you mean --quick?"]);
    refused(USAGE, "bench --method paket-v3", &["did you mean packet-v3?"]);
    refused(USAGE, "bench --method cmd:tcpdmp", &["did you mean cmd:tcpdump?"]);
    refused(USAGE, "count -i lo0", &["did you mean lo?"]);
}

#[test]
fn what_tcpdumps_users_type_is_accepted_and_its_buffer_is_in_kib() {
    let help = printed("record --help-all");
    for flag in ["-n...", "-v...", "-q...", "-e...", "-l...", "-B, --buffer-size", "-j, --time-stamp-type"] {
        assert!(help.contains(flag), "{flag}: {help}");
    }
    refused(USAGE, "record -nn -v -q -e -l -j host -i lo", &["-w"]);
    refused(USAGE, "record -i lo -j adapter -w x.pcap", &["adapter", "host"]);
    refused(USAGE, "record -r x.pcap", &["convert", "verify"]);
    refused(USAGE, "count -i lo -nn -B 9999999999999", &["memory"]);
    refused(USAGE, "count -i lo -B 4096 --ring 4MiB", &["--ring"]);
    assert!(printed("record -J").contains("host"));
}

#[test]
fn filters_of_a_count_that_cannot_be_are_refused() {
    refused(USAGE, "count -i lo --method xdp-count tcp", &["xdp-count", "FILTER"]);
    refused(USAGE, "count -i lo --each tcp -s 96", &["--each", "--snaplen"]);
    refused(USAGE, "count -i lo --verify 1 tcp", &["--verify", "FILTER"]);
    refused(USAGE, "count -i lo --frames 9", &["--verify"]);
}

#[test]
fn a_program_needs_no_file_that_defines_it() {
    let plan = printed("bench --dry-run --quick --method cmd:{interface}");
    assert!(plan.contains("cmd:{interface}"), "{plan}");
    refused(USAGE, "bench --dry-run --method cmd:{ring}", &["{interface}"]);
}

#[test]
fn no_command_prints_the_commands_in_their_groups() {
    let output = outcome("");
    let errors = lossy(&output.stderr);
    assert_eq!((output.status.code(), lossy(&output.stdout).as_str()), (Some(USAGE), ""), "{errors}");
    assert_eq!(errors, printed("--help"));
    assert!(errors.contains("Compare:\n  bench ") && errors.contains("Find a loss:\n  why "), "{errors}");
}

#[test]
fn frame_sizes_that_cannot_be_are_refused() {
    refused(USAGE, "bench --size 63", &["63", "64"]);
    refused(USAGE, "bench --size 9999", &["9999", "MTU", "1500", "1518"]);
    refused(USAGE, "bench --size 64,1519", &["1519"]);
    refused(USAGE, "bench --size large", &["large"]);
    refused(USAGE, "bench --size 64 --vlan 4095", &["4095"]);
    refused(USAGE, "send -i lo --isolated -c 1 --size 63", &["63", "64"]);
}

#[test]
fn rates_that_are_none_are_refused() {
    for rate in ["0", "fast", "NaN", "inf", "-inf", "1e400", "100pps/s", "''"] {
        refused(USAGE, &format!("bench --rate={rate}"), &["--rate", rate]);
        refused(USAGE, &format!("send -i lo -c 1 --rate={rate}"), &["--rate", rate]);
    }
    refused(USAGE, "send -i lo --isolated -c 1 --rate 10%", &["--rate", "lo", "speed", "bit/s"]);
    refused(USAGE, "search --dry-run --max-rate 10%", &["--max-rate", "speed"]);
    refused(USAGE, "search --dry-run --size 64,128 --max-rate 1Gbps", &["--max-rate", "--size"]);
    let plan = printed("soak --dry-run --for 1m --size 128 --rate 1.024Mbit/s");
    assert!(plan.contains("1,000 packets/s"), "{plan}");
    refused(USAGE, "bench --rate=-5", &["-5"]);
    refused(USAGE, "bench --rate -5", &["-5"]);
}

#[test]
fn limits_that_measure_nothing_are_refused() {
    refused(USAGE, "bench --duration 0", &["--duration"]);
    refused(USAGE, "bench --duration 0ms", &["--duration"]);
    refused(USAGE, "bench --duration soon", &["soon", "500ms"]);
    let long = "9999999999years";
    refused(USAGE, &format!("sweep work --duration {long} --dry-run"), &["--duration", "366 days"]);
    refused(USAGE, &format!("rfc2544 --duration {long} --dry-run"), &["--duration"]);
    refused(USAGE, "soak --for 1e19 --rate 1k --dry-run", &["--for"]);
    refused(USAGE, &format!("search --goal x:loss=0,duration={long} --dry-run"), &["duration"]);
    refused(USAGE, "search --goal x:loss=0,duration=500years --dry-run", &["x", "30 days"]);
    for plan in ["sweep work", "rfc2544", "bench"] {
        printed(&format!("{plan} --duration 30days --dry-run"));
    }
    refused(USAGE, "bench --quiet 0", &["--quiet"]);
    refused(USAGE, "send -i lo --isolated --duration 0", &["--duration"]);
    refused(USAGE, "send -i lo --isolated -c 0", &["--count"]);
    refused(USAGE, "send -i lo --isolated", &["--duration"]);
    refused(USAGE, "count -i lo -c 0", &["--count"]);
    refused(USAGE, "count -i lo --duration=-1", &["-1"]);
}

#[test]
fn cpus_that_do_not_exist_are_refused() {
    let custom = "bench --kernel-cpu 0 --app-cpu 0 --gen-cpu";
    refused(USAGE, &format!("{custom} 99999"), &["CPU 99999", "does not exist", "this host has"]);
    refused(USAGE, "send -i lo --isolated -c 1 --cpu 99999", &["CPU 99999", "this host has"]);
    refused(USAGE, "count -i lo --cpu 99999", &["CPU 99999", "this host has"]);
    refused(USAGE, "bench --gen-cpu 0", &["--kernel-cpu", "--app-cpu"]);
    refused(USAGE, "bench --gen-cpu first --kernel-cpu 0 --app-cpu 0", &["first"]);
}

#[test]
fn interfaces_that_do_not_exist_are_refused() {
    refused(USAGE, "why -i no-such-if --once", &["no-such-if", "does not exist"]);
    refused(USAGE, "why lo -i lo", &["--interface"]);
    refused(USAGE, "why -i lo --for 0", &["--for"]);
    refused(USAGE, "count -i no-such-if", &["no-such-if", "does not exist"]);
    refused(USAGE, "send -i no-such-if -c 1", &["no-such-if", "does not exist"]);
    refused(USAGE, "bench --tx no-such-if --rx lo", &["no-such-if", "does not exist"]);
    refused(USAGE, "count -i a-name-longer-than-any-interface-has", &["does not exist"]);
    refused(USAGE, "bench --tx lo", &["--rx"]);
    refused(USAGE, "bench --rx lo", &["--tx"]);
    refused(USAGE, "count", &["--interface"]);
}

#[test]
fn flags_without_effect_on_a_method_are_refused() {
    for (method, flags) in [
        ("pf-ring", &["--ring 1MiB", "--block 1MiB"][..]),
        ("nfb", &["--ring 1MiB", "--no-promiscuous"]),
        ("szedata2", &["--ring 1MiB", "--no-promiscuous"]),
        ("xdp-count", &["--ring 1MiB", "--snaplen 96", "--spin 1ms"]),
        ("recv", &["--block 1MiB", "--retire-timeout 1ms"]),
    ] {
        for flag in flags {
            let name = flag.split(' ').next().unwrap();
            let says = format!("{name} has no effect on {method}");
            refused(USAGE, &format!("count -i lo --method {method} {flag}"), &[&says, "capbench methods"]);
        }
    }
    // Of several methods those that do not use it are named.
    let several = outcome("bench --dry-run --ring 1MiB --method packet-v3,pf-ring,xdp-count");
    let errors = lossy(&several.stderr);
    assert_eq!(several.status.code(), Some(0), "{errors}");
    assert!(errors.contains("capbench: --ring has no effect on pf-ring, xdp-count"), "{errors}");
}

#[test]
fn captures_that_cannot_be_are_refused() {
    refused(USAGE, "count -i lo --ring 9999GiB", &["--ring 9999GiB", "memory"]);
    refused(USAGE, "count -i lo --ring 64Mb", &["64Mb", "64MiB"]);
    refused(USAGE, "count -i lo --ring 0", &["--ring"]);
    refused(USAGE, "count -i lo --verify 1 -s 40", &["40", "stamp"]);
    refused(USAGE, "bench -s 40", &["40", "stamp"]);
}

#[test]
fn goals_that_contradict_themselves_are_refused() {
    refused(USAGE, "search --goal fastest", &["fastest", "ndr", "pdr"]);
    refused(USAGE, "search --goal mine:loss=100%,duration=1s", &["mine", "loss", "100 %"]);
    refused(USAGE, "search --goal mine:loss=0,duration=1s,width=0", &["mine", "width=0"]);
    refused(USAGE, "search --goal mine:loss=1%,duration=1s,width=0.5%", &["mine", "width", "loss"]);
    refused(USAGE, "search --goal mine:loss=0,duration=2s,sum=1s", &["mine", "sum"]);
    let endless = "search --dry-run --goal mine:loss=0";
    refused(USAGE, &format!("{endless},duration=10ms,sum=10m"), &["mine", "sum", "10000 trials"]);
    refused(USAGE, &format!("{endless},duration=1s,sum=9999999999999s"), &["mine", "sum"]);
    refused(USAGE, &format!("{endless},duration=1s,width=1e-17,strategy=binary"), &["mine", "width"]);
    refused(
        USAGE,
        &format!("{endless},duration=10ms,sum=100s,width=0.0001%,strategy=binary"),
        &["100000 trials"],
    );
    refused(USAGE, "search --goal ndr --goal ndr", &["two goals", "ndr"]);
    refused(USAGE, "search --goal ndr,,pdr", &["no name", "comma"]);
    refused(USAGE, "search --time 1s", &["1s", "too short", "14 trials", "s in all"]);
    for (key, value) in
        [("loss", "NaN"), ("loss", "-1%"), ("width", "NaN"), ("width", "-1%"), ("exceed", "1")]
    {
        let goal =
            format!("search --goal mine:duration=1s,loss=0,{key}={value}").replace("loss=0,loss", "loss");
        refused(USAGE, &goal, &["mine", key, "no ratio"]);
    }
    refused(USAGE, "search --min-rate 20k --max-rate 10k", &["maximum load", "least"]);
    let brief = "search --goal x:loss=0,duration=10ms,sum=100ms --dry-run";
    refused(USAGE, &format!("{brief} --burst 1024"), &["10ms", "10 frames", "shorter than a burst of 1024"]);
    refused(USAGE, &format!("{brief} --min-rate 50"), &["10ms", "50 packets/s", "less than a frame"]);
    refused(USAGE, &format!("{brief} --burst 0"), &["--burst"]);
    assert!(printed(&format!("{brief} --burst 10")).contains("\nbursts      of 10 frames\n"));
    refused(USAGE, "search --goal rfc2544 --time 30s", &["30s", "too short", "trials"]);
    refused(FAILED, "search --goals no-such-file.toml", &["no-such-file.toml"]);
    for other in ["--goal ndr", "--max-rate 5k", "--method recv", "--ring 1MiB", "--vlan 3", "--dry-run"] {
        refused(USAGE, &format!("search --resume x {other}"), &[]);
    }
    refused(FAILED, "search --resume x --time 5m", &["results.json"]);
}

#[test]
fn publications_that_nothing_is_known_of_and_scales_that_are_none_are_refused() {
    refused(USAGE, "reproduce", &["KEY"]);
    refused(USAGE, "reproduce dain-2005", &["dain-2005", "dain-2004", "libtrace-2012 and all"]);
    for scale in ["0", "-1", "-0.5", "1e9", "11", "NaN", "inf", "fast"] {
        refused(USAGE, &format!("reproduce all --scale {scale}"), &["--scale", scale]);
    }
    refused(USAGE, "reproduce all --visits 0", &["--visits"]);
    refused(USAGE, "reproduce all --quiet 0", &["--quiet", "0"]);
    refused(USAGE, "reproduce all --transmit dpdk", &["dpdk", "packet-tx"]);
    refused(USAGE, "reproduce all --tx eth0", &["--rx"]);
    refused(USAGE, "reproduce all --isolated", &["--tx"]);
}

#[test]
fn sweeps_and_tests_that_cannot_be_are_refused() {
    refused(USAGE, "sweep", &["AXIS"]);
    refused(USAGE, "sweep colour", &["colour", "work", "ring"]);
    refused(USAGE, "sweep work --from ns:0", &["--to"]);
    refused(USAGE, "sweep work --from ns:9 --to ns:3", &["9", "3"]);
    refused(USAGE, "sweep work --from ns:0 --to loop:3", &["ns:0", "loop:3"]);
    refused(USAGE, "sweep work --points ns:1,ns:1", &["twice"]);
    refused(USAGE, "sweep work --preset dain-1999", &["dain-1999", "dain-2004-45kpps"]);
    refused(USAGE, "sweep work --preset=", &["dain-2004"]);
    let both = printed("sweep work --preset dain-2004 --dry-run");
    assert!(both.contains("45,000 packets/s") && both.contains("167,000"), "{both}");
    let trials = |flags: &str| {
        let plan = printed(&format!(
            "sweep work --preset dain-2004-45kpps --dry-run --method recv --refine 0 {flags}"
        ));
        let line = plan.lines().find(|line| line.starts_with("trials ")).map(str::to_string);
        line.unwrap_or_else(|| panic!("{plan}"))
    };
    assert!(trials("").contains("up to 240 of 1s"), "40 points, 6 visits: {}", trials(""));
    assert!(trials("--steps 12").contains("up to 72 of 1s"), "{}", trials("--steps 12"));
    refused(USAGE, "sweep work --size 64,128", &["--size", "one frame size"]);
    refused(USAGE, "sweep work --rate fast", &["fast", "max"]);
    refused(USAGE, "sweep load", &["--rate", "--from"]);
    refused(USAGE, "sweep load --from 2k --to 1k", &["--from"]);
    refused(USAGE, "sweep ring --from 0 --to 8", &["0", "frames"]);
    refused(USAGE, "sweep ring --bursts", &["burst", "rate"]);
    refused(USAGE, "sweep ring --points 1MiB/x", &["--points"]);
    refused(USAGE, "sweep ring --points 0", &["--points", "ring"]);
    refused(USAGE, "sweep ring --points 3KiB/1GiB", &["--points", "block"]);
    refused(USAGE, "sweep ring --points 8192GiB --dry-run", &["memory"]);
    refused(USAGE, "sweep ring --from 8 --to 4294967295 --dry-run", &["memory"]);
    refused(USAGE, "sweep load --from 1k --to 2k --rate 5M", &["--rate", "--from"]);
    refused(USAGE, "sweep work --work ns:5000", &["--work", "--points"]);
    refused(USAGE, "sweep placement --bursts --rate 1k", &["--bursts"]);
    refused(USAGE, "sweep work --bursts --rate 1k", &["--bursts"]);
    refused(USAGE, "sweep work --rate max,max", &["max", "twice"]);
    printed("sweep load --from 1 --to 5 --dry-run");
    let plan = |arguments: &str| printed(&format!("{arguments} --dry-run --seed 1 --method recv"));
    // 60 octets with preamble and gap are 84 octets on the wire, 672 bits; with the FCS alone 512.
    for (bits, frames) in [("512kbit/s", "1000"), ("672kbpsL1", "1k")] {
        let in_bits = plan(&format!("sweep work --size 64 --rate {bits}"));
        assert_eq!(in_bits, plan(&format!("sweep work --size 64 --rate {frames}")));
        assert!(in_bits.contains("1,000 packets/s"), "{in_bits}");
    }
    assert_eq!(plan("sweep load --from 512kbps --to 1024kbps"), plan("sweep load --from 1000 --to 2000"));
    assert_eq!(plan("sweep load --points 512kbps,max"), plan("sweep load --points 1000,max"));
    refused(USAGE, "sweep work --rate 10%", &["--rate", "speed of the line is unknown"]);
    refused(USAGE, "sweep size --rate 1Mbit/s", &["--rate", "name one --size"]);
    refused(USAGE, "sweep size --points 64", &["--size"]);
    refused(USAGE, "sweep placement --from same --to other", &["--from"]);
    refused(USAGE, "sweep coalesce --points soon", &["soon", "adaptive"]);
    refused(USAGE, "sweep work --visits 0", &["--visits"]);
    refused(USAGE, "sweep work --time 30s --dry-run", &["--time 30s", "too short", "at least", "--visits"]);
    refused(USAGE, "sweep ring --bursts --rate 100k --time 1m", &["--time 1m", "too short"]);
    assert!(printed("sweep work --method recv --time 3m --dry-run").contains("may not suffice"));
    assert!(!printed("sweep work --method recv --time 30d --dry-run").contains("suffice"));
    refused(USAGE, "rfc2544 --test speed", &["speed", "throughput", "recovery"]);
    refused(USAGE, "rfc2544 --throughput 10k", &["--max-rate"]);
    refused(USAGE, "rfc2544 --test latency,recovery --throughput 1k", &["--max-rate", "system recovery"]);
    assert!(printed("rfc2544 --test latency --throughput 1k --quick --dry-run").contains("latency"));
    refused(USAGE, "rfc2544 --step 11%", &["--step", "up to 10 %"]);
    refused(USAGE, "rfc2544 --step 0", &["--step", "above 0 %"]);
    refused(USAGE, "rfc2544 --step 0.01%", &["--step", "0.1 %"]);
    refused(USAGE, "rfc2544 --step fine", &["--step", "fine", "percent"]);
    assert!(printed("rfc2544 --step 2.5 --dry-run").contains("steps of 2.5 %"));
    refused(USAGE, "rfc2544 --throughput 10k --max-rate 5k", &["10000", "5000"]);
    refused(USAGE, "rfc2544 --test throughput --throughput 5k --max-rate 10k", &["--test throughput"]);
    refused(USAGE, "rfc2544 --duration 0", &["--duration"]);
    refused(USAGE, "rfc2544 --test latency,recovery,latency", &["--test", "latency", "twice"]);
    refused(USAGE, "rfc2544 --test=", &["--test", "latency"]);
    refused(USAGE, "rfc2544 --throughput 5k --max-rate 5k --test recovery", &["recovery", "--max-rate"]);
    refused(
        USAGE,
        "rfc2544 --max-rate 1M --longest-burst 10us",
        &["--longest-burst 10µs", "10 frames", "64"],
    );
    refused(USAGE, "rfc2544 --time 1s", &["--time"]);
    for command in ["search", "rfc2544", "bench", "soak --rate 1k --for 1s"] {
        refused(USAGE, &format!("{command} --size 64,128,64"), &["--size", "64", "twice"]);
        refused(USAGE, &format!("{command} --placement same,same"), &["--placement", "same", "twice"]);
    }
    refused(USAGE, "soak --rate 0.001 --for 1s", &["--rate 0.001", "1s", "no frame"]);
}

#[test]
fn reports_that_cannot_be_are_refused() {
    refused(USAGE, "report", &["RESULTS"]);
    refused(USAGE, "report run --format pdf", &["pdf", "html", "parquet"]);
    refused(USAGE, "report run --format csv --stdout --out x", &["--out", "--stdout"]);
    refused(USAGE, "report a b --format csv --stdout", &["--stdout", "one"]);
    refused(FAILED, "report no-such-run", &["no-such-run"]);
}

#[test]
fn comparisons_that_cannot_be_are_refused() {
    refused(USAGE, "compare", &["<A>", "<B>"]);
    refused(USAGE, "compare x", &["<B>"]);
    refused(USAGE, "compare / /", &["named twice"]);
    refused(FAILED, "compare no-such-run other", &["no-such-run", "no run that can be compared", "--out"]);
    refused(USAGE, "compare x y --across colour", &["colour", "method", "work"]);
    refused(USAGE, "compare x y --threshold 200%", &["200%", "5%"]);
    refused(USAGE, "compare x y --loss-threshold=-1", &["-1", "share"]);
    refused(USAGE, "bench --against packet-v4", &["packet-v4", "packet-v3"]);
    refused(USAGE, "bench --against recv --method recv --dry-run", &["--against", "another"]);
    refused(USAGE, "bench --threshold 3% --dry-run", &["--against"]);
    refused(USAGE, "bench --visits 0", &["--visits"]);
}

#[test]
fn help_of_everything() {
    let commands = [
        "",
        "bench",
        "search",
        "sweep",
        "reproduce",
        "rfc2544",
        "soak",
        "compare",
        "report",
        "send",
        "count",
        "verify",
        "why",
        "methods",
    ];
    for command in commands {
        let name = format!("help {command}");
        insta::assert_snapshot!(name.trim().replace(' ', "_"), printed(&format!("{command} --help")));
    }
}

#[test]
fn the_version_is_the_packages() {
    let expected = concat!("capbench ", env!("CARGO_PKG_VERSION"), "\n");
    assert_eq!(printed("--version"), expected);
    assert_eq!(printed("-V"), expected);
}

#[test]
fn plans_are_printed_and_nothing_is_run() {
    insta::assert_snapshot!("plan_bench", printed("bench --dry-run --duration 1s --placement same,other"));
    insta::assert_snapshot!(
        "plan_bench_of_one_load",
        printed(
            "bench --dry-run --method recv,packet-v3 --size imix,64 --work ns:500 --rate 1.5Mpps --duration 2s --placement same"
        )
    );
    insta::assert_snapshot!(
        "plan_bench_against",
        printed("bench --dry-run --method packet-v3 --against recv --size 64 --placement same")
    );
    insta::assert_snapshot!("plan_search", printed("search --dry-run --method packet-v2,packet-v3"));
    insta::assert_snapshot!(
        "plan_sweep",
        printed("sweep ring --dry-run --method packet-v2 --rate 100k --bursts")
    );
    insta::assert_snapshot!("plan_reproduce", printed("reproduce all --dry-run --seed 1"));
    insta::assert_snapshot!(
        "plan_reproduce_one",
        printed("reproduce dain-2004 --dry-run --scale 1 --visits 6")
    );
    insta::assert_snapshot!("plan_rfc2544", printed("rfc2544 --dry-run --quick"));
    insta::assert_snapshot!("list_of_goals", printed("search --list-goals"));
    insta::assert_snapshot!(
        "plan_send",
        printed("send -i lo --isolated --dry-run --rate 100k -c 500000 --ipv6 --tcp --vlan 7 --size 128")
    );
}

#[test]
fn a_bench_takes_no_longer_than_its_plan_may_say() {
    for (arguments, limit) in [("bench --dry-run", 90), ("bench --quick --dry-run", 20)] {
        let plan = printed(arguments);
        let seconds = plan.lines().find_map(|line| line.strip_prefix("time")?.trim().strip_prefix("up to "));
        let seconds: u32 = seconds.unwrap().strip_suffix(" s").unwrap().parse().unwrap();
        assert!((1..limit).contains(&seconds), "{arguments}: {plan}");
    }
}

#[test]
fn root_a_ring_or_a_folder_that_cannot_be_ends_a_bench_before_it_begins() {
    let Some(()) = privileges() else { return };
    refused(USAGE, "bench --quick --ring 9999GiB", &["--ring 9999GiB", "memory"]);
    refused(USAGE, "bench --quick --method packet-v3 --block 1000", &["--block", "page"]);
    refused(FAILED, "bench --quick --out /proc/x", &["/proc/x", "--out"]);
    refused(FAILED, "bench --quick --out /dev/null/x", &["/dev/null/x", "--out"]);
    let taken = Scratch::new();
    std::fs::write(taken.file("mine"), "x").unwrap();
    refused(FAILED, &format!("bench --quick --out {}", taken.path().display()), &["not empty", "--out"]);
    assert_eq!(taken.entries(), ["mine"]);
}

#[test]
fn root_interfaces_in_use_or_down_are_refused() {
    let Some((_, spaces)) = test_bed() else { return };
    let refused_there = |code: i32, arguments: &str, parts: &[&str]| {
        let folder = Scratch::new();
        let mut command = capbench("");
        let ended = run(&spaces.left, command.args(arguments.split(' ')).current_dir(folder.path()));
        assert_refusal(&format!("capbench {arguments}"), code, ended.code, &ended.errors, parts);
        assert_eq!((ended.out.as_str(), folder.entries()), ("", vec![]), "capbench {arguments}");
    };
    let send = "send -i left -c 3 --json";
    let bench = "bench --quick --tx left --rx left";
    assert_eq!(run(&spaces.left, capbench("").args(send.split(' '))).success().json()["sent"], 3);

    spaces.left.ip("address add 198.18.0.1/24 dev left");
    for command in [send, bench] {
        refused_there(USAGE, command, &["interface left", "198.18.0.1", "RFC 6815", "--isolated"]);
    }
    spaces.left.ip("route add default dev left");
    for command in [send, bench] {
        refused_there(USAGE, command, &["interface left", "default route", "RFC 6815", "--isolated"]);
    }
    // A route alone says the same; and the user's word is taken.
    spaces.left.ip("address flush dev left");
    spaces.left.ip("route add default dev left");
    refused_there(USAGE, send, &["default route", "--isolated"]);
    run(&spaces.left, capbench("").args(format!("{send} --isolated").split(' '))).success();

    spaces.left.ip("link set dev left down");
    for command in [send, bench, "count -i left"] {
        refused_there(FAILED, command, &["interface left", "is down", "ip link set left up"]);
        if command != "count -i left" {
            refused_there(FAILED, &format!("{command} --isolated"), &["is down"]);
        }
    }
    spaces.left.ip("link set dev left up");
    spaces.right.ip("link set dev right down");
    refused_there(FAILED, &format!("{send} --isolated"), &["interface left", "no carrier"]);
}

#[test]
fn root_an_interface_that_goes_down_ends_a_count() {
    let Some(()) = privileges() else { return };
    for method in ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3"] {
        let spaces = Namespaces::make();
        let mut count = Running::start(&spaces.right, capbench(&format!("count -i right --method {method}")));
        count.wait_for(&format!("{method} on right"));
        spaces.right.ip("link set dev right down");
        let ended = count.end();
        assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
        let last = ended.errors.lines().last().unwrap();
        assert!(last.contains("right") && last.contains("down"), "{ended:#?}");
    }
}

#[test]
fn root_a_missing_capability_is_named() {
    let Some(()) = privileges() else { return };
    let (folder, home) = (Scratch::new(), Scratch::of_nobody());
    for arguments in ["count -i lo", "count -i lo --method recv", "send -i lo --isolated -c 1"] {
        let ended = run(HOST, folder.capbench_of_nobody(&home).args(arguments.split(' ')));
        let what = format!("capbench {arguments}, as nobody");
        assert_refusal(&what, PRIVILEGE, ended.code, &ended.errors, &["CAP_NET_RAW", "run as root"]);
    }
    let ended = run(HOST, folder.capbench_of_nobody(&home).arg("methods")).success();
    assert!(ended.out.contains("packet-v3") && ended.out.contains("CAP_NET_RAW"), "{}", ended.out);
    assert_eq!(home.entries(), [] as [String; 0]);
}

#[test]
fn recordings_that_cannot_be_are_refused() {
    refused(USAGE, "record -w a.pcapng", &["-i", "-D"]);
    refused(USAGE, "record -i lo", &["-w"]);
    refused(USAGE, "record -i no-such-if -w a.pcapng --method recv", &["no-such-if"]);
    refused(USAGE, "record -i lo -w a.pcapng --method packet-v9", &["packet-v9", "packet-v3"]);
    refused(USAGE, "record -i lo -w a.pcapng --method xdp-count", &["counts"]);
    refused(USAGE, "record -i lo -w a.pcapng --format text", &["text", "pcapng"]);
    refused(USAGE, "record -i lo -w a.pcapng --fanout hash", &["--members"]);
    refused(USAGE, "record -i lo -w a.pcapng --fanout sideways --members 2", &["sideways", "hash"]);
    refused(USAGE, "record -i lo -w a.pcapng --workers 0", &["--workers"]);
    refused(USAGE, "record -i lo -w a.pcapng --worker-queue 4", &["--workers"]);
    refused(USAGE, "record -i lo -w a.pcapng --worker-wait", &["--workers"]);
    refused(USAGE, "record -i lo -w a.pcapng -c 0", &["-c"]);
    refused(USAGE, "record -i lo -w a.pcapng -C 0", &["0 bytes"]);
    refused(USAGE, "record -i lo -w a.pcapng --cpu 9999 --method recv", &["9999"]);
    refused(USAGE, "record -i lo -w a.pcapng -Z no-such-user", &["no-such-user"]);
    refused(USAGE, "record -i lo -w a.pcapng -F /nonexistent --method recv", &["-F", "/nonexistent"]);
    refused(USAGE, "record -i lo -w a.pcapng --max-loss 2", &["--max-loss"]);
    refused(USAGE, "record -i lo -w a.pcapng -a filesize:9", &["filesize:9", "duration:SECONDS"]);
    refused(USAGE, "record -i lo -w a.pcapng -b files:2 -W 3", &["-b files", "-W"]);
}

#[test]
fn record_lists_interfaces_and_link_types() {
    assert!(printed("record -D").lines().any(|line| line.ends_with(".lo")));
    assert!(printed("record -L -i lo").contains("EN10MB"));
}
