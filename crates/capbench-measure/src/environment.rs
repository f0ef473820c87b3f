//! What this host is.
