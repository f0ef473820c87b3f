//! Which methods come behind all others, however much they sustain.

use capbench_model::method_spec::{Delivery, MethodSpec};
use capbench_model::saved::SavedMethod;

/// Whether a method comes behind all others, and takes no part in turns: it only counts frames, and captures none.
pub(super) fn comes_last(method: &SavedMethod) -> bool {
    method.known().and_then(MethodSpec::delivery) == Some(Delivery::Counted)
}
