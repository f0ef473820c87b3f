//! `hosts`: a row is a host of a run.

use capbench_model::environment::Environment;
use capbench_results::column::Column;

use super::{ExportedRun, receiving, word};

/// A host of a run.
#[derive(Clone, Debug)]
pub struct HostRow<'r> {
    run: &'r ExportedRun<'r>,
    role: String,
    location: Option<&'r str>,
    host_id: Option<String>,
    environment: &'r Environment,
}

/// The hosts of a run: the one of both sides, or those of its locations.
pub fn rows<'r>(run: &'r ExportedRun<'r>) -> Vec<HostRow<'r>> {
    let environment = &run.results.environment;
    if environment.hosts.is_empty() {
        return vec![HostRow {
            run,
            role: "both".into(),
            location: None,
            host_id: run.host_id.clone(),
            environment,
        }];
    }
    let of = |host: &'r capbench_model::environment::RunHost| HostRow {
        run,
        role: word(host.role).unwrap_or_default(),
        location: Some(&host.location),
        host_id: host.host_id.clone(),
        environment: &host.environment,
    };
    environment.hosts.iter().map(of).collect()
}

type Hosts<'r> = Column<'r, HostRow<'r>>;

/// The columns, in order.
pub fn columns<'r>() -> Vec<Hosts<'r>> {
    let interface = |row: &HostRow<'_>| receiving(&row.run.results.environment, None).cloned();
    vec![
        Hosts::text("run_id", "as in `trials`", |row| Some(row.run.id.clone())),
        Hosts::text("role", "`environment.hosts[].role`; `both` if one host had both sides", |row| {
            Some(row.role.clone())
        }),
        Hosts::text("location", "`environment.hosts[].location`", |row| row.location.map(String::from)),
        Hosts::text("host_id", "`environment.hosts[].host_id`; of one host as in `trials`", |row| {
            row.host_id.clone()
        }),
        Hosts::text("clock_source", "`environment.kernel.clocksource`", |row| {
            row.environment.kernel.as_ref()?.clocksource.clone()
        }),
        Hosts::text("kernel_release", "`environment.kernel_release`", |row| {
            row.environment.kernel_release.clone()
        }),
        Hosts::text("kernel_version", "`environment.kernel_version`", |row| {
            row.environment.kernel_version.clone()
        }),
        Hosts::text("machine", "`environment.machine`", |row| word(&row.environment.machine)),
        Hosts::text("cpu_model", "`environment.cpu_model`", |row| row.environment.cpu_model.clone()),
        Hosts::text("microcode", "`environment.cpu.microcode`", |row| {
            row.environment.cpu.as_ref()?.microcode.clone()
        }),
        Hosts::count("cpus_online", "`environment.cpus_online`", |row| {
            Some(row.environment.cpus_online as u64)
        }),
        Hosts::count("memory_bytes", "`environment.memory_bytes`", |row| Some(row.environment.memory_bytes)),
        Hosts::flag("virtual_machine", "`environment.virtual_machine`", |row| {
            row.environment.virtual_machine
        }),
        Hosts::text("hypervisor", "`environment.hardware.hypervisor`", |row| {
            row.environment.hardware.as_ref()?.hypervisor.clone()
        }),
        Hosts::text("vendor", "`environment.hardware.vendor`", |row| {
            row.environment.hardware.as_ref()?.vendor.clone()
        }),
        Hosts::text("product", "`environment.hardware.product`", |row| {
            row.environment.hardware.as_ref()?.product.clone()
        }),
        Hosts::text("driver", "as in `trials`; NULL of a host that only sends", move |row| {
            interface(row).filter(|_| row.role != "transmit")?.driver
        }),
        Hosts::text("firmware", "as in `trials`; NULL of a host that only sends", move |row| {
            interface(row).filter(|_| row.role != "transmit")?.firmware
        }),
        Hosts::text("capbench_version", "`environment.capbench_version`", |row| {
            word(&row.environment.capbench_version)
        }),
        Hosts::text("source_hash", "`environment.program.source_hash`", |row| {
            row.environment.program.as_ref()?.source_hash.clone()
        }),
        Hosts::text("environment", "`environment` as JSON, without `hosts`", |row| {
            let facts = Environment { hosts: Vec::new(), ..row.environment.clone() };
            serde_json::to_string(&facts).ok()
        }),
    ]
}
