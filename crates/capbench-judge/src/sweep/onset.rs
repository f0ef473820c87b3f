//! The point of a sweep at which loss begins. Answers, tables, and the plan that adds points there ask for it here.

/// The index of the point at which loss begins, of points in the order of the axis; `None` if no point has loss.
pub fn first_lossy(are_lossy: impl IntoIterator<Item = bool>) -> Option<usize> {
    are_lossy.into_iter().position(|is_lossy| is_lossy)
}
