//! The program. All code is in the library of this name, so that fuzz targets can call its readers.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    capbench::main()
}
