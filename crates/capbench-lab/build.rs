//! Compiles the BPF programs that make faults for tests.

#[path = "../capbench-sys/compile_bpf.rs"]
mod compile_bpf;

fn main() {
    compile_bpf::compile_bpf("tests/bpf");
}
