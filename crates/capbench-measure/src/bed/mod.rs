//! The two interfaces that a trial runs between.
