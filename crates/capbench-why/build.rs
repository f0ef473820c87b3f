//! Compiles the BPF programs.

fn main() {
    capbench_bpf_build::compile_folder("src/sockets");
    // Faults for tests.
    capbench_bpf_build::compile_folder("../capbench-lab/tests/bpf");
}
