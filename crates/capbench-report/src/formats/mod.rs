//! Writers, one a format: each turns what a report says into text and adds nothing.

pub mod html;
pub mod svg;
