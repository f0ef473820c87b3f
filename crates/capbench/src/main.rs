//! The program; the library of this name is all of it, so that fuzz targets can call its readers.

#![forbid(unsafe_code)]

fn main() -> std::process::ExitCode {
    capbench::main()
}
