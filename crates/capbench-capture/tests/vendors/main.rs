//! The methods of vendors' libraries against stand-ins for them.

mod nfb;
mod pf_ring;
#[allow(dead_code, reason = "other crates need more of it")]
#[path = "../stand_ins/mod.rs"]
mod stand_ins;
mod szedata2;
