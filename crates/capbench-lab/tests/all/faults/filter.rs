//! A fault by a filter on the capture's own socket.

use capbench_capture::Filter;

use super::Every;

/// A program that drops every so many frames by the low 32 bits of their numbers, in UDP over IPv4 without a tag.
pub fn drop_every(every: Every) -> Filter {
    let (load_word, modulo, jump_if_equal, keep_or_drop) = (32, 148, 21, 6);
    format!(
        "5,{load_word} 0 0 46,{modulo} 0 0 {},{jump_if_equal} 0 1 0,{keep_or_drop} 0 0 0,{keep_or_drop} 0 0 262144",
        every.0
    )
    .parse()
    .unwrap()
}
