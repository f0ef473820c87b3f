//! Reports on saved results: a pure function of them. Results become one [`model::Report`], made of sentences, tables and charts;
//! a writer for each format turns that into text and adds nothing.

#![forbid(unsafe_code)]

pub mod figures;
pub mod model;
pub mod sections;
