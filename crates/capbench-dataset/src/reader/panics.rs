//! The library of Parquet panics where the data of a page is damaged: that is an error of the file, and no message of its own.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

use parquet::errors::Result as Attempt;

use super::bounds::refuse;

thread_local! {
    /// Whether a panic of this thread is an error of a file.
    static IS_OF_FILE: Cell<bool> = const { Cell::new(false) };
}

/// Does this, and returns an error where it panics.
pub(super) fn caught<T>(read: impl FnOnce() -> Attempt<T>) -> Attempt<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !IS_OF_FILE.get() {
                before(info);
            }
        }));
    });
    IS_OF_FILE.set(true);
    let done = panic::catch_unwind(AssertUnwindSafe(read));
    IS_OF_FILE.set(false);
    done.unwrap_or_else(|_| Err(refuse("its data is damaged")))
}
