//! The running kernel's types according to its own description: BTF (Documentation/bpf/btf.rst in the kernel's source).

use std::path::Path;

use capbench_sys::SysError;
use capbench_sys::bpf::object;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Typedef};

/// File with the type description of kernels with CONFIG_DEBUG_INFO_BTF (Linux 5.4).
pub const KERNEL_TYPES: &str = "/sys/kernel/btf/vmlinux";

/// The types of a kernel.
#[derive(Debug)]
pub struct KernelTypes {
    types: Btf<'static>,
}

impl KernelTypes {
    /// Reads a type description.
    pub fn read(path: &Path) -> Result<Self, SysError> {
        object::listen();
        let types = Btf::from_path(path).map_err(|error| SysError::Call {
            what: format!("reading the kernel's types (BTF) from {}", path.display()),
            source: std::io::Error::other(error),
        })?;
        Ok(Self { types })
    }

    /// The names and numbers of an enumeration; `None` if the kernel does not have it.
    pub fn enumeration(&self, name: &str) -> Option<Vec<(String, i64)>> {
        let found: Enum<'_> = self.types.type_by_name(name)?;
        let members =
            found.iter().filter_map(|member| Some((member.name?.to_str()?.to_string(), member.value)));
        Some(members.collect())
    }

    /// Whether the kernel without its modules has a tracepoint of this name.
    pub fn has_tracepoint(&self, name: &str) -> bool {
        self.types.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_kernels_types_are_read() {
        let path = Path::new(KERNEL_TYPES);
        if !path.exists() {
            return capbench_testing::cannot_have(
                capbench_testing::HostLimit::Kernel,
                "it does not describe its types",
            );
        }
        let types = KernelTypes::read(path).unwrap();
        assert!(types.has_tracepoint("kfree_skb") && !types.has_tracepoint("no_such_thing"));
        assert!(types.enumeration("no_such_thing").is_none());
        let actions = types.enumeration("xdp_action").unwrap();
        assert!(actions.contains(&("XDP_DROP".into(), 1)), "{actions:?}");
    }

    #[test]
    fn text_without_types_is_an_error() {
        for path in ["/no/such/file", "/dev/null", "/proc/version"] {
            let error = KernelTypes::read(Path::new(path)).unwrap_err().to_string();
            assert!(error.contains(path) && error.contains("BTF"), "{error}");
        }
    }
}
