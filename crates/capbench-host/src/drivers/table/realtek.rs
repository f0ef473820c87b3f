//! Realtek's cards: r8169, and 8139cp, which virtual machines emulate.

use super::Meaning::{Discarded, Framing, Missed, Part};
use super::{Driver, Row, info, link, total};

pub(super) static DRIVERS: &[Driver] =
    &[Driver::new(&["r8169"], &[R8169]), Driver::new(&["8139cp"], &[CP8139])];

const R8169_C: &str =
    "drivers/net/ethernet/realtek/r8169_main.c: rtl8169_get_stats64, rtl8169_get_ethtool_stats";

/// The card counts missed frames in 16 bits.
const R8169: &[Row] = &[
    total("rx_missed", Missed, R8169_C),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, R8169_C),
    total("align_errors", Framing, R8169_C),
    info("rx_errors", Part, R8169_C),
];

const CP8139_C: &str = "drivers/net/ethernet/realtek/8139cp.c: cp_get_stats, cp_rx_poll";

/// `rx_fifo` has 16 bits; the link statistics have its full value.
const CP8139: &[Row] = &[
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, CP8139_C),
    info("rx_fifo", Part, CP8139_C),
    total("rx_frags", Discarded, CP8139_C),
    info("rx_err|frame_align", Part, CP8139_C),
];
