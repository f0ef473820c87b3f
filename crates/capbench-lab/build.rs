//! Compiles the BPF programs that make faults for tests.

fn main() {
    capbench_bpf_build::compile_folder("tests/bpf");
}
