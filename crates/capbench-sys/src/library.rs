//! Libraries opened at run time (dlopen(3)), so that capbench links to none of them.

use std::fs::File;
use std::io::Read;
use std::ops::Deref;

use crate::error::{Result, SysError};

/// An open library. Its symbols stay in a scope of their own (`RTLD_LOCAL`), so that two builds of one library can be
/// open at once; it is closed when this is dropped.
#[derive(Debug)]
pub struct Library {
    library: libloading::os::unix::Library,
    name: String,
}

/// A symbol of a library, usable while the library is open.
#[derive(Debug)]
pub struct Symbol<'l, T>(libloading::os::unix::Symbol<T>, std::marker::PhantomData<&'l Library>);

impl<T> Deref for Symbol<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl Library {
    /// Opens a library by its path, or by its name where the system's linker looks for it.
    ///
    /// # Errors
    /// [`SysError::Library`]: it is not there, is no library, is one for another machine, or misses what it needs itself.
    ///
    /// # Safety
    /// The library's initialisation and termination functions run in this process: it must be one that does no harm, as
    /// the libraries that users name are expected to.
    pub unsafe fn open(name: &str) -> Result<Self> {
        let flags = libloading::os::unix::RTLD_NOW | libloading::os::unix::RTLD_LOCAL;
        // SAFETY: the caller vouches for the library's initialisation functions.
        match unsafe { libloading::os::unix::Library::open(Some(name), flags) } {
            Ok(library) => Ok(Self { library, name: name.into() }),
            Err(error) => Err(Self::unusable(name, &error)),
        }
    }

    /// What it was opened by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A symbol.
    ///
    /// # Errors
    /// [`SysError::Library`] when the library has none of this name.
    ///
    /// # Safety
    /// `T` must be the type of that symbol in every library that has it: a function pointer with its C signature.
    pub unsafe fn symbol<T>(&self, name: &str) -> Result<Symbol<'_, T>> {
        // SAFETY: the caller vouches for the type.
        let symbol = unsafe { self.library.get::<T>(name.as_bytes()) };
        symbol.map(|symbol| Symbol(symbol, std::marker::PhantomData)).map_err(|_| SysError::Library {
            library: self.name.clone(),
            reason: format!("it has no function {name}, so it is not the library that was expected"),
        })
    }

    fn unusable(name: &str, error: &libloading::Error) -> SysError {
        let reason = match name.contains('/').then(|| of_file(name)).flatten() {
            Some(reason) => reason,
            None => {
                // "libx.so.1: cannot open shared object file: ..." begins with the name that the message has already.
                let text =
                    std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
                text.strip_prefix(&format!("{name}: ")).unwrap_or(&text).to_string()
            }
        };
        SysError::Library { library: name.into(), reason }
    }
}

/// Why a file can be no library for this process, where its first octets tell (elf(5)).
fn of_file(path: &str) -> Option<String> {
    /// `e_ident` and `e_machine` of the ELF header.
    const HEAD: usize = 20;
    let mut head = [0; HEAD];
    match File::open(path).and_then(|mut file| file.read_exact(&mut head)) {
        Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            return Some("it is no library: it is too short for one".into());
        }
        Err(error) => return Some(error.to_string()),
        Ok(()) => {}
    }
    if head[..4] != *b"\x7fELF" {
        return Some("it is no library: it has no ELF header".into());
    }
    let own = own_head()?;
    // Class (32 or 64 bits), byte order, machine.
    let of = |head: &[u8; HEAD]| (head[4], head[5], [head[18], head[19]]);
    (of(&head) != of(&own)).then(|| {
        format!(
            "it is a library for another kind of machine (ELF class and machine {:?}, here {:?})",
            of(&head),
            of(&own)
        )
    })
}

/// The ELF header of this program: what this machine's libraries have to be like.
fn own_head() -> Option<[u8; 20]> {
    let mut head = [0; 20];
    File::open("/proc/self/exe").and_then(|mut file| file.read_exact(&mut head)).ok()?;
    Some(head)
}

#[cfg(test)]
mod tests {
    use super::Library;

    fn refusal(name: &str) -> String {
        // SAFETY: none of these can be opened.
        unsafe { Library::open(name) }.unwrap_err().to_string()
    }

    fn file(name: &str, content: &[u8]) -> String {
        let path = std::env::temp_dir().join(format!("capbench-library-{}-{name}", std::process::id()));
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().into()
    }

    #[test]
    fn what_is_wrong_with_a_library_is_said() {
        assert!(
            refusal("libno-such-thing.so.9").contains("cannot open"),
            "{}",
            refusal("libno-such-thing.so.9")
        );
        assert!(refusal("/nonexistent/libx.so").contains("No such file"));
        let text = file("text", b"this is not a library, it is only text");
        assert!(refusal(&text).contains("no ELF header"));
        let short = file("short", b"\x7fELF");
        assert!(refusal(&short).contains("too short"));
        let mut foreign = std::fs::read("/proc/self/exe").unwrap();
        foreign.truncate(4096);
        foreign[18] = if foreign[18] == 0xb7 { 0x3e } else { 0xb7 };
        let foreign = file("foreign", &foreign);
        assert!(refusal(&foreign).contains("another kind of machine"));
        for path in [text, short, foreign] {
            std::fs::remove_file(path).unwrap();
        }
    }

    #[test]
    fn symbols_are_found_or_named() {
        // SAFETY: the C library is open already.
        let library = unsafe { Library::open("libc.so.6") }.unwrap();
        // SAFETY: getpid(2) has this signature.
        let getpid = unsafe { library.symbol::<unsafe extern "C" fn() -> i32>("getpid") }.unwrap();
        // SAFETY: it has no preconditions.
        assert_eq!(unsafe { getpid() }, std::process::id() as i32);
        // SAFETY: never called.
        let error = unsafe { library.symbol::<unsafe extern "C" fn()>("no_such_function") }.unwrap_err();
        assert!(error.to_string().contains("no_such_function"));
    }
}
