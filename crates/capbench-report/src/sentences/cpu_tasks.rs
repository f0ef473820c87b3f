//! The words of `CpuTasks` and `LoadDepends`: which CPUs do what, and why the offered load depends on the receiver.

use capbench_model::placement::{CpuTasks, LoadDepends, TaskHosts};

/// Why the offered load depends on the receiver.
pub fn load_depends_words(because: &LoadDepends) -> String {
    match because {
        LoadDepends::SharedCpus(tasks) => cpu_tasks_words(tasks),
        LoadDepends::SmallBuffers => {
            "the generator's send buffer and ring hold fewer frames than the receiver's backlog, or its size \
             (net.core.netdev_max_backlog) is unknown, so a slow receiver may slow it; a larger net.core.wmem_max or root may help"
                .into()
        }
        LoadDepends::Earlier { text } => text.clone(),
    }
}

/// Which CPUs do what.
pub fn cpu_tasks_words(tasks: &CpuTasks) -> String {
    let mut words = match &tasks.hosts {
        Some(hosts) => between_hosts(tasks, hosts),
        None => on_one_host(tasks),
    };
    if !tasks.kernels.is_empty() {
        words += &format!("; the receive work is spread over CPUs {}", list(&tasks.kernels));
    }
    if tasks.is_undriven {
        words += "; the kernel receives nothing of a device that it does not drive";
    }
    if !tasks.more_generators.is_empty() {
        let more = tasks.more_generators.len();
        words += &format!("; {more} more generator threads run on CPUs {}", list(&tasks.more_generators));
    }
    if tasks.more_generators_share() {
        words += ", also of the receiver, so the load depends on it";
    }
    words
}

fn on_one_host(tasks: &CpuTasks) -> String {
    let CpuTasks { generator, kernel, application, .. } = tasks;
    if generator == kernel && kernel == application {
        return format!(
            "CPU {generator} generates, does the kernel's receive work and runs the application: each slows the others, so the load \
             depends on the receiver"
        );
    }
    if generator == kernel {
        return format!(
            "CPU {generator} generates and does the kernel's receive work, CPU {application} runs the application: receive work \
             slows the generator, so the load depends on the receiver"
        );
    }
    if generator == application {
        return format!(
            "CPU {generator} generates and runs the application, CPU {kernel} does the kernel's receive work: the application slows \
             the generator, so the load depends on the receiver"
        );
    }
    if kernel == application {
        return format!(
            "CPU {generator} generates, CPU {kernel} does the kernel's receive work and runs the application: the load does not \
             depend on the receiver"
        );
    }
    format!(
        "CPU {generator} generates, CPU {kernel} does the kernel's receive work, CPU {application} runs the application: the load \
         does not depend on the receiver"
    )
}

fn between_hosts(tasks: &CpuTasks, hosts: &TaskHosts) -> String {
    let CpuTasks { kernel, application, .. } = tasks;
    let TaskHosts { generators, receiver } = hosts;
    let mut each = Vec::new();
    for generator in generators {
        each.push(match generator.cpu {
            Some(cpu) => format!("CPU {cpu} of {}", generator.location),
            None => generator.location.clone(),
        });
    }
    let verb = if each.len() == 1 { "generates" } else { "generate" };
    format!(
        "{} {verb}, CPU {kernel} of {receiver} does the kernel's receive work, CPU {application} there runs the application: the \
         load does not depend on the receiver",
        each.join(", ")
    )
}

fn list(cpus: &[u32]) -> String {
    cpus.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use capbench_model::placement::HostOfGenerator;

    use super::*;

    fn tasks([generator, kernel, application]: [u32; 3]) -> CpuTasks {
        CpuTasks {
            generator,
            kernel,
            application,
            kernels: Vec::new(),
            more_generators: Vec::new(),
            hosts: None,
            is_undriven: false,
        }
    }

    #[test]
    fn shared_cpus_say_what_slows_the_generator() {
        for (cpus, words) in [
            (
                [4, 4, 4],
                "CPU 4 generates, does the kernel's receive work and runs the application: each slows the others, so the load \
                 depends on the receiver",
            ),
            (
                [0, 0, 1],
                "CPU 0 generates and does the kernel's receive work, CPU 1 runs the application: receive work slows the \
                 generator, so the load depends on the receiver",
            ),
            (
                [0, 1, 0],
                "CPU 0 generates and runs the application, CPU 1 does the kernel's receive work: the application slows the \
                 generator, so the load depends on the receiver",
            ),
            (
                [0, 1, 1],
                "CPU 0 generates, CPU 1 does the kernel's receive work and runs the application: the load does not depend on the \
                 receiver",
            ),
            (
                [0, 1, 2],
                "CPU 0 generates, CPU 1 does the kernel's receive work, CPU 2 runs the application: the load does not depend on \
                 the receiver",
            ),
        ] {
            assert_eq!(cpu_tasks_words(&tasks(cpus)), words);
        }
    }

    #[test]
    fn more_threads_queues_and_devices_follow() {
        let whole = cpu_tasks_words(&tasks([0, 1, 2]));
        let more = CpuTasks { kernels: vec![1, 3], more_generators: vec![5, 4], ..tasks([0, 1, 2]) };
        assert_eq!(
            cpu_tasks_words(&more),
            format!(
                "{whole}; the receive work is spread over CPUs 1,3; 2 more generator threads run on CPUs 5,4"
            )
        );
        let sharing = CpuTasks { more_generators: vec![5, 2], is_undriven: true, ..tasks([0, 1, 2]) };
        assert_eq!(
            load_depends_words(&LoadDepends::SharedCpus(sharing)),
            format!(
                "{whole}; the kernel receives nothing of a device that it does not drive; 2 more generator threads run on CPUs \
                 5,2, also of the receiver, so the load depends on it"
            )
        );
    }

    #[test]
    fn generators_on_other_hosts_are_named() {
        let located = |location: &str, cpu| HostOfGenerator { location: location.into(), cpu };
        let words = |generators: Vec<HostOfGenerator>| {
            let hosts = Some(TaskHosts { generators, receiver: "ssh:c/eth0".into() });
            cpu_tasks_words(&CpuTasks { hosts, ..tasks([0, 0, 1]) })
        };
        assert_eq!(
            words(vec![located("ssh:a/eth1", Some(3)), located("otg:https://b,1", None)]),
            "CPU 3 of ssh:a/eth1, otg:https://b,1 generate, CPU 0 of ssh:c/eth0 does the kernel's receive work, CPU 1 there runs \
             the application: the load does not depend on the receiver"
        );
        assert!(
            words(vec![located("ssh:a/eth1", Some(3))]).starts_with("CPU 3 of ssh:a/eth1 generates, CPU 0")
        );
    }
}
