//! Reads search goals from a file of the user.

use std::path::Path;

use capbench_sys::host::trust::{self, Trust};

use crate::{PlanError, Result};
use capbench_judge::search::Goal;
use capbench_judge::search::notation::{Unread, parse_toml};

/// The goals of a TOML file by name. Fails when it cannot be read, is not TOML, or defines no valid goal.
pub fn read(path: &Path) -> Result<Vec<Goal>> {
    let text = Trust::everybody().read_text(path, trust::LONGEST);
    let text = text.map_err(|source| PlanError::File { path: path.into(), source })?;
    parse_toml(&text).map_err(|error| match error {
        Unread::Goal(error) => error.into(),
        Unread::File(reason) => PlanError::Definition { path: path.into(), reason },
    })
}
