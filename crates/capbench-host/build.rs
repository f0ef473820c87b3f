//! Compiles the BPF programs.

#[path = "../capbench-sys/compile_bpf.rs"]
mod compile_bpf;

fn main() {
    compile_bpf::compile_bpf("src/bed");
    compile_bpf::compile_bpf("src/tracer");
}
