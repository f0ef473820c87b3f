//! What the tests' own check of results files sees, and what the environment in a real one holds.

use std::process::Command;

use crate::support::{HOST, Running, Scratch, capbench, run, scratch_of_root};
use serde_json::Value;

#[test]
fn what_a_command_saves_is_held_against_the_schema() {
    let folder = Scratch::new();
    let saving = |text: &str| {
        let mut command = Command::new("sh");
        command
            .args(["-c", "printf %s \"$1\" > \"$3/results.json\"", "sh", text, "--out"])
            .arg(folder.path());
        command
    };
    for text in ["{}", "{\"schema_version\": 1}", "no JSON"] {
        let outcome = std::panic::catch_unwind(|| run(HOST, &mut saving(text)));
        assert!(outcome.is_err(), "{text} was taken");
    }
    run(HOST, &mut saving("no JSON"));
}

#[test]
fn root_the_environment_of_a_run_says_what_its_interfaces_are() {
    let Some(folder) = scratch_of_root() else { return };
    let out = folder.path().join("run");
    let ended = Running::start(HOST, capbench("bench --size 64 --method packet-v3 --placement same,other --rate 1000 --duration 50ms --quiet 50ms --repeats 0 --out").arg(&out)).end();
    assert!(matches!(ended.code, Some(0 | 4)), "{ended:#?}");
    let text = std::fs::read(out.join("results.json")).unwrap();
    let environment = serde_json::from_slice::<Value>(&text).unwrap()["environment"].take();
    assert_eq!(environment["program"]["profile"], if cfg!(debug_assertions) { "debug" } else { "release" });
    assert!(environment["sysctls"]["net.core.netdev_budget"].is_string(), "{environment:#}");
    let interfaces = environment["interfaces"].as_array().unwrap();
    let receiving = |placement: &str| {
        let is_it = |interface: &&Value| {
            let placements = interface["placements"].as_array().unwrap();
            interface["role"] == "receive" && placements.iter().any(|name| name == placement)
        };
        interfaces.iter().find(is_it).unwrap_or_else(|| panic!("{placement}: {environment:#}"))
    };
    for placement in ["same", "other"] {
        let interface = receiving(placement);
        assert_eq!((&interface["driver"], &interface["made_by_capbench"]), (&"veth".into(), &true.into()));
        assert!(interface["interrupts"].is_null() && interface["mtu_bytes"].is_u64(), "{interface:#}");
        assert!(interface["offloads_on"].as_array().is_some_and(|names| !names.is_empty()), "{interface:#}");
    }
}
