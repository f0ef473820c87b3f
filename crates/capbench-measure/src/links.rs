//! Interfaces, over rtnetlink.
