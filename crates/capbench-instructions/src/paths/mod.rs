//! The paths: what each packet passes, without the kernel, other threads and the disk.

mod receive;
mod record;
mod send;

use anyhow::Result;

use crate::counter::Counter;
use crate::inputs::Input;

/// Sizes of frames with FCS.
const SIZES: [&str; 3] = ["64", "imix", "1518"];

/// Does the work of every path, each on the same packets.
pub fn run(counter: &mut Counter) -> Result<()> {
    for sizes in SIZES {
        let input = Input::new(sizes)?;
        receive::run(counter, &input)?;
        record::run(counter, &input)?;
        send::run(counter, &input)?;
    }
    receive::book(counter)
}
