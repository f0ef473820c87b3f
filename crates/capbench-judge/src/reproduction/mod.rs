//! The saved outcome of a reproduction: its tables, with published cells next to measured ones, and the answers to its claims.

mod outcome;

pub use outcome::{
    Answer, Cell, Column, Comparison, Judgement, Quantity, Reproduction, Row, RowHeader, Side,
};
