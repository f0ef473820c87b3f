//! Privileges of the process, and how an ordinary user gets those for a test bed: user_namespaces(7).

use capbench_sys::SysError;
use capbench_sys::host::capability::{self, Capability};
use capbench_sys::host::{identity, namespace};

use crate::{HostError, Result};

/// Capabilities needed to make a test bed.
const NEEDED: [Capability; 3] = [Capability::NetAdmin, Capability::NetRaw, Capability::SysAdmin];

/// Privileges of the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Privilege {
    /// Everything that a test bed needs, on the host itself.
    Full,
    /// All capabilities inside a user namespace, none outside: no BPF, no real interfaces, no pinning of kernel threads.
    UserNamespace,
}

/// Host settings that forbid namespaces. `None` if the host has no such setting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct HostSettings {
    /// `kernel.unprivileged_userns_clone` of Debian's and older Ubuntu's kernels.
    userns_clone: Option<u64>,
    /// `user.max_user_namespaces`.
    max_user: Option<u64>,
    /// `user.max_mnt_namespaces`.
    max_mount: Option<u64>,
    /// `user.max_net_namespaces`.
    max_net: Option<u64>,
    /// `kernel.apparmor_restrict_unprivileged_userns` of Ubuntu 23.10 and later.
    apparmor: Option<u64>,
    /// Whether a seccomp filter applies to this process, as in containers.
    seccomp: bool,
    /// Whether the process runs as root, so that sudo does not help.
    root: bool,
}

/// Prepares the process to make test beds. Call it first in `main`, before any thread starts: a process with threads cannot
/// enter a user namespace.
///
/// Root keeps its privileges. An ordinary user gets a user namespace with all capabilities in it; files that the process writes
/// still belong to that user.
///
/// # Errors
/// [`HostError::Privilege`] if the host forbids user namespaces, with the responsible setting and what to do.
pub fn prepare_process() -> Result<Privilege> {
    let settings = HostSettings::read();
    if settings.max_net == Some(0) {
        return Err(diagnose("network namespaces are not allowed here", &settings));
    }
    if capability::effective()?.missing(&NEEDED).is_empty() {
        let initial = namespace::in_initial_user_namespace()?;
        return Ok(if initial { Privilege::Full } else { Privilege::UserNamespace });
    }
    namespace::enter_user_namespace().map_err(|error| match error {
        SysError::Argument { .. } | SysError::Library { .. } => HostError::Sys(error),
        SysError::Call { .. } | SysError::Refused { .. } => {
            diagnose(&format!("no user namespace can be made ({error})"), &settings)
        }
    })?;
    let missing = capability::effective()?.missing(&NEEDED);
    if let Some(capability) = missing.first() {
        return Err(diagnose(&format!("a user namespace was made, but without {capability}"), &settings));
    }
    Ok(Privilege::UserNamespace)
}

/// The error if the kernel refuses a namespace after [`prepare_process`].
pub(super) fn namespace_refused(error: SysError) -> HostError {
    let missing = capability::effective().map(|set| set.missing(&NEEDED)).unwrap_or_default();
    match missing.first() {
        Some(capability) => HostError::Privilege {
            reason: format!("cannot make a network namespace without {capability} ({error})"),
            next: format!("run it with sudo or grant {capability}"),
        },
        None => diagnose(&format!("no network namespace can be made ({error})"), &HostSettings::read()),
    }
}

/// The setting that forbids namespaces, and what to do about it.
fn diagnose(what: &str, settings: &HostSettings) -> HostError {
    let sysctl = |name: &str, value: u64| format!("run it with sudo, or `sudo sysctl {name}={value}`");
    let (because, next) = if settings.userns_clone == Some(0) {
        ("kernel.unprivileged_userns_clone is 0", sysctl("kernel.unprivileged_userns_clone", 1))
    } else if settings.max_user == Some(0) {
        ("user.max_user_namespaces is 0", sysctl("user.max_user_namespaces", 1000))
    } else if settings.max_net == Some(0) {
        // Applies to root too.
        ("user.max_net_namespaces is 0", "`sudo sysctl user.max_net_namespaces=1000` allows them".into())
    } else if settings.max_mount == Some(0) {
        ("user.max_mnt_namespaces is 0", sysctl("user.max_mnt_namespaces", 1000))
    } else if settings.apparmor.is_some_and(|value| value != 0) {
        (
            "AppArmor restricts user namespaces: kernel.apparmor_restrict_unprivileged_userns is not 0",
            "run it with sudo, or give the program an AppArmor profile that contains `userns,`, or `sudo sysctl \
             kernel.apparmor_restrict_unprivileged_userns=0`"
                .into(),
        )
    } else if settings.seccomp {
        (
            "a seccomp filter, probably a container's, is in force",
            "run it outside the container, or give the container CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW".into(),
        )
    } else if settings.root {
        (
            "this root lacks capabilities",
            "give the process CAP_SYS_ADMIN, CAP_NET_ADMIN and CAP_NET_RAW, or run it as another user".into(),
        )
    } else {
        ("no setting that forbids it was found", "run it with sudo".into())
    };
    HostError::Privilege { reason: format!("{what}: {because}"), next }
}

impl HostSettings {
    fn read() -> Self {
        let setting =
            |name: &str| std::fs::read_to_string(format!("/proc/sys/{name}")).ok()?.trim().parse().ok();
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
        Self {
            userns_clone: setting("kernel/unprivileged_userns_clone"),
            max_user: setting("user/max_user_namespaces"),
            max_mount: setting("user/max_mnt_namespaces"),
            max_net: setting("user/max_net_namespaces"),
            apparmor: setting("kernel/apparmor_restrict_unprivileged_userns"),
            seccomp: filtered(&status),
            root: identity::effective().uid == 0,
        }
    }
}

/// Whether a thread with this `status` has a seccomp filter (proc_pid_status(5): 2 is SECCOMP_MODE_FILTER).
fn filtered(status: &str) -> bool {
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(settings: HostSettings) -> String {
        diagnose("no user namespace can be made", &settings).to_string()
    }

    #[test]
    fn each_setting_is_named_with_what_to_do() {
        let none = HostSettings::default();
        let debian = message(HostSettings { userns_clone: Some(0), ..none });
        assert!(debian.contains("sudo sysctl kernel.unprivileged_userns_clone=1"), "{debian}");
        let limit = message(HostSettings { max_user: Some(0), userns_clone: Some(1), ..none });
        assert!(limit.contains("user.max_user_namespaces is 0"), "{limit}");
        let net = message(HostSettings { max_net: Some(0), ..none });
        assert!(net.contains("user.max_net_namespaces is 0") && !net.contains("run it with sudo"), "{net}");
        let ubuntu = message(HostSettings { apparmor: Some(1), max_user: Some(60_000), ..none });
        assert!(ubuntu.contains("AppArmor") && ubuntu.contains("`userns,`"), "{ubuntu}");
        let container = message(HostSettings { seccomp: true, apparmor: Some(0), ..none });
        assert!(container.contains("seccomp"), "{container}");
        assert!(message(HostSettings { root: true, ..none }).contains("run it as another user"));
        assert!(message(none).ends_with("run it with sudo"));
    }

    #[test]
    fn messages_are_one_line() {
        let settings = HostSettings { apparmor: Some(1), ..HostSettings::default() };
        assert_eq!(message(settings).lines().count(), 1);
    }

    #[test]
    fn a_filter_is_seen() {
        assert!(filtered("Name:\tx\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!filtered("Seccomp:\t0\nSeccomp_filters:\t2\n"));
        assert!(!filtered(""));
    }
}
