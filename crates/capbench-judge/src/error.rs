//! The error of this crate. Every message is one line: what is wrong, and what to write instead.

/// Goals of a search that are not valid.
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
    /// A list of goals is not valid.
    #[error("search: {reason}")]
    Goals {
        /// What is wrong, and what to write instead.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, JudgeError>;
