//! Compiles the BPF programs.

#[path = "../capbench-sys/compile_bpf.rs"]
mod compile_bpf;

fn main() {
    compile_bpf::compile_bpf("src/sockets");
    // Faults for tests.
    compile_bpf::compile_bpf("../capbench-lab/tests/bpf");
}
