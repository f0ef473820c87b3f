//! Broadcom's drivers: bnxt_en, tg3.

use super::Meaning::{
    Checksum, Driver as DriverDrop, Framing, Length, Missed, NoMemory, Offload, Overrun, Part, Pause,
    Shortage,
};
use super::{Driver, Row, info, link, queue, total};

pub(super) static DRIVERS: &[Driver] = &[
    // The cards write their counters into memory every second (BNXT_DEF_STATS_COAL_TICKS, DEFAULT_STAT_COAL_TICKS).
    Driver::new(&["bnxt_en"], &[BNXT]).refreshed_every(1000),
    Driver::new(&["tg3"], &[TG3]).refreshed_every(1000),
];

const BNXT_C: &str = "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_get_ring_stats";
const BNXT_PORT_C: &str = "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_get_stats64";
const BNXT_DRIVER_C: &str = "drivers/net/ethernet/broadcom/bnxt/bnxt.c: bnxt_rx_pkt, bnxt_tpa_end";

const BNXT: &[Row] = &[
    total("rx_total_ring_discards", Missed, BNXT_C),
    queue("[{n}]: rx_discards", Missed, BNXT_C),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, BNXT_C),
    total("rx_stat_discard", Overrun, BNXT_PORT_C).unverified(),
    total("rx_total_oom_discards", NoMemory, BNXT_DRIVER_C),
    total("rx_total_netpoll_discards", DriverDrop, BNXT_DRIVER_C).part("netpoll"),
    total("rx_total_buf_errors", DriverDrop, BNXT_DRIVER_C),
    queue("[{n}]: rx_buf_errors", DriverDrop, BNXT_DRIVER_C),
    info("rx_total_resets|[{n}]: rx_resets", Shortage, BNXT_DRIVER_C),
    total("rx_fcs_err_frames", Checksum, BNXT_PORT_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, BNXT_PORT_C),
    total("rx_align_err_frames", Framing, BNXT_PORT_C),
    link("rx_frame_errors", |stats| stats.rx_frame_errors, Framing, BNXT_PORT_C),
    total("rx_undrsz_frames|rx_ovrsz_frames|rx_runt_frames", Length, BNXT_PORT_C),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, BNXT_PORT_C),
    info("[{n}]: rx_errors|rx_stat_err|rx_jbr_frames", Part, BNXT_PORT_C),
    info("rx_pause_frames|tx_pause_frames|rx_pfc_frames|tx_pfc_frames", Pause, BNXT_PORT_C),
    info("rx_pfc_ena_frames_pri{n}|tx_pfc_ena_frames_pri{n}", Pause, BNXT_PORT_C),
    info("rx_total_l4_csum_errors|[{n}]: rx_l4_csum_errors", Offload, BNXT_DRIVER_C),
];

const TG3_C: &str = "drivers/net/ethernet/broadcom/tg3.c: tg3_get_nstats";

const TG3: &[Row] = &[
    total("rx_discards", Missed, TG3_C),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, TG3_C),
    info("rxbds_empty|mbuf_lwm_thresh_hit|rx_threshold_hit", Shortage, TG3_C),
    total("rx_fcs_errors", Checksum, TG3_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, TG3_C),
    total("rx_align_errors", Framing, TG3_C),
    link("rx_frame_errors", |stats| stats.rx_frame_errors, Framing, TG3_C),
    total("rx_frame_too_long_errors|rx_undersize_packets", Length, TG3_C),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, TG3_C),
    info("rx_errors|rx_fragments|rx_jabbers|rx_in_length_errors|rx_out_length_errors", Part, TG3_C),
    info("rx_xon_pause_rcvd|rx_xoff_pause_rcvd|rx_xoff_entered|tx_xon_sent|tx_xoff_sent", Pause, TG3_C),
];
