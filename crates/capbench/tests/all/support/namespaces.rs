//! Network namespaces with names, for hosts that programs find by `ip netns`.

use capbench_testing::network::program;

/// Runs ip(8), which has to succeed.
pub fn ip(arguments: &str) {
    let output = program(&format!("ip {arguments}")).output().unwrap();
    assert!(output.status.success(), "ip {arguments}: {output:?}");
}

/// Makes a namespace whose interfaces send nothing by themselves.
pub fn add_namespace(name: &str) {
    ip(&format!("netns add {name}"));
    // No neighbour discovery. A kernel without IPv6 has no such file.
    let mut silence = program(&format!("ip netns exec {name} sh -c"));
    silence.arg("echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6").output().unwrap();
}

/// Removes a namespace, if it is there.
pub fn remove_namespace(name: &str) {
    let _ = program(&format!("ip netns del {name}")).output();
}

/// Names of the processes in a namespace, as they are in /proc/PID/comm.
pub fn processes_in(name: &str) -> Vec<String> {
    let output = program(&format!("ip netns pids {name}")).output().unwrap();
    let numbers = String::from_utf8(output.stdout).unwrap();
    let name_of = |number: &str| std::fs::read_to_string(format!("/proc/{number}/comm")).ok();
    numbers.split_whitespace().filter_map(name_of).map(|name| name.trim().to_string()).collect()
}
