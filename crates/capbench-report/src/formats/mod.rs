//! Writers, one a format: each turns a report into text and adds nothing.

pub mod html;
