//! What settings cost, where capbench measured it. Nothing is derived from these figures: a setting without one is "not measured".

use schemars::JsonSchema;
use serde::Serialize;

use crate::items::ItemName;

/// A measured figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Figure {
    /// What was measured, with its unit and its conditions.
    pub figure: &'static str,
    /// Where it is documented.
    pub source: &'static str,
}

/// The figures, one for each item that has one.
const FIGURES: &[(ItemName, Figure)] = &[(
    ItemName::Backlog,
    Figure {
        figure: "at 434,000 packets/s a backlog of 1000 packets overflows 2.3 ms after its CPU stalls",
        source: "docs/guards.md",
    },
)];

/// The figure of an item; `None` where nothing was measured.
pub(crate) fn of(item: ItemName) -> Option<Figure> {
    FIGURES.iter().find(|(known, _)| *known == item).map(|(_, figure)| *figure)
}
