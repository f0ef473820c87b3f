//! Compiles the BPF programs.

fn main() {
    capbench_bpf_build::compile_folder("src/bed");
    capbench_bpf_build::compile_folder("src/tracer");
}
