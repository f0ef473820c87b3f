//! Other makers' drivers: sfc (AMD, formerly Solarflare), enic (Cisco).

use super::Meaning::{Checksum, Discarded, Framing, Length, Missed, NoMemory, Overrun, Pause, Shortage, Xdp};
use super::{Driver, Row, info, link, total};

pub(super) static DRIVERS: &[Driver] = &[
    // The card writes its counters into memory every second.
    Driver::new(&["sfc"], &[SFC]).refreshed_every(1000),
    Driver::new(&["enic"], &[ENIC]),
];

const SFC_C: &str = "drivers/net/ethernet/sfc/ef10.c: efx_ef10_update_stats_common";
const SFC_XDP_C: &str = "drivers/net/ethernet/sfc/rx.c: efx_do_xdp";

/// `port_rx_nodesc_drops` is added to `rx_dropped`, like the stack's drops, and not to `rx_missed_errors`. The overflow may
/// contain the `pm_discard` counters.
const SFC: &[Row] = &[
    total("port_rx_nodesc_drops", Missed, SFC_C),
    total("rx_nodesc_trunc", Missed, SFC_C).part("truncated"),
    total("port_rx_overflow", Overrun, SFC_C),
    total("rx_overflow", Overrun, SFC_C),
    link("rx_fifo_errors", |stats| stats.rx_fifo_errors, Overrun, SFC_C),
    total("port_rx_pm_discard_bb_overflow", Overrun, SFC_C).part("burst buffer").unverified(),
    total("port_rx_pm_discard_vfifo_full", Overrun, SFC_C).part("vfifo").unverified(),
    total("port_rx_pm_discard_qbb", Overrun, SFC_C).part("qbb").unverified(),
    total("rx_noskb_drops", NoMemory, SFC_C),
    total("port_rx_bad", Checksum, SFC_C),
    total("rx_bad", Checksum, SFC_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, SFC_C),
    total("port_rx_gtjumbo|port_rx_length_error", Length, SFC_C),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, SFC_C),
    total("port_rx_align_error", Framing, SFC_C),
    link("rx_frame_errors", |stats| stats.rx_frame_errors, Framing, SFC_C),
    total("rx_xdp_drops", Xdp, SFC_XDP_C),
    total("rx_xdp_bad_drops", Xdp, SFC_XDP_C).part("bad"),
    info("port_rx_pause|port_tx_pause", Pause, SFC_C),
    info("port_rx_dp_hlb_fetch|port_rx_dp_hlb_wait|port_rx_dp_di_dropped_packets", Shortage, SFC_C),
];

const ENIC_C: &str = "drivers/net/ethernet/cisco/enic/enic_main.c: enic_get_stats";

/// Both `rx_no_bufs` and `rx_drop` are added to `rx_dropped`, and nothing to `rx_missed_errors`. `rx_over_errors` are frames
/// that were cut because buffers were missing.
const ENIC: &[Row] = &[
    total("rx_no_bufs", Missed, ENIC_C),
    total("rx_drop", Discarded, ENIC_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, ENIC_C),
    link("rx_over_errors", |stats| stats.rx_over_errors, Missed, ENIC_C).part("truncated"),
];
