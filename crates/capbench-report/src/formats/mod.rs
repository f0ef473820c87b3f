//! Writers: each turns what a report says into one format, and adds nothing.

pub mod svg;
