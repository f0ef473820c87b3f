//! The error of this crate. Every message is one line: what is wrong, and what to write instead.

/// Why there is no judgement.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// A search goal is not valid, or contradicts itself.
    #[error("goal {goal}: {reason}")]
    Goal {
        /// Its name, as the user wrote it.
        goal: String,
        /// What is wrong, and what to write instead.
        reason: String,
    },
    /// Runs that cannot be compared.
    #[error("compare: {reason}")]
    Runs {
        /// Why they cannot be compared, and which runs to name.
        reason: String,
    },
    /// Values of a column that cannot be compared.
    #[error("{reason}")]
    Values {
        /// Why, with the flag.
        reason: String,
    },
    /// A list of goals is not valid.
    #[error("search: {reason}")]
    Goals {
        /// What is wrong, and what to write instead.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, JudgeError>;
