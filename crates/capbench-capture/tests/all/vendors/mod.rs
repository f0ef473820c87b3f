//! The methods of vendors' libraries against stand-ins for them.

mod nfb;
mod pf_ring;
mod szedata2;
