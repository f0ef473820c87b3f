//! Intel's drivers: e1000, e1000e, igb, igc, ixgbe, i40e, ice.

use super::FrameCounts::Each;
use super::Meaning::{Checksum, Discarded, Framing, Length, Missed, Offload, Overrun, Part, Pause, Shortage};
use super::{Driver, Row, info, link, queue, total};

pub(super) static DRIVERS: &[Driver] = &[
    // The driver counts each frame itself: when it frees a sent one, and when it passes a received one to the stack.
    Driver::new(&["e1000"], &[GIGABIT, E1000]).adding_registers().counting(Each(E1000_C)),
    // GPRC and GPTC: good frames, without those of MPC.
    Driver::new(&["e1000e"], &[GIGABIT, E1000E])
        .counting(Each("drivers/net/ethernet/intel/e1000e/netdev.c: e1000e_get_stats64")),
    Driver::new(&["igb"], &[GIGABIT, GIGABIT_QUEUES])
        .counting(Each("drivers/net/ethernet/intel/igb/igb_main.c: igb_update_stats")),
    Driver::new(&["igc"], &[GIGABIT, GIGABIT_QUEUES]),
    Driver::new(&["ixgbe"], &[IXGBE]).counting(Each(IXGBE_C)),
    Driver::new(&["i40e"], &[I40E]),
    Driver::new(&["ice"], &[ICE]),
];

const GIGABIT_C: &str = "drivers/net/ethernet/intel/{e1000,e1000e,igb,igc}/*_ethtool.c: *_gstrings_stats";

/// Counters that the gigabit drivers share. `rx_missed_errors` is the register MPC: the receive FIFO was full because the host
/// had not read frames from it. `rx_no_buffer_count` (RNBC) counts frames that waited in the FIFO for a descriptor; most of
/// them were received later.
const GIGABIT: &[Row] = &[
    total("rx_missed_errors", Missed, GIGABIT_C),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, GIGABIT_C),
    info("rx_no_buffer_count", Shortage, GIGABIT_C),
    total("rx_crc_errors", Checksum, GIGABIT_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, GIGABIT_C),
    total("rx_long_length_errors|rx_short_length_errors", Length, GIGABIT_C),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, GIGABIT_C),
    info("rx_length_errors", Part, GIGABIT_C),
    total("rx_align_errors", Framing, GIGABIT_C),
    link("rx_frame_errors", |stats| stats.rx_frame_errors, Framing, GIGABIT_C),
    info("rx_errors|rx_frame_errors|rx_over_errors|rx_fifo_errors", Part, GIGABIT_C),
    info(
        "rx_flow_control_xon|rx_flow_control_xoff|tx_flow_control_xon|tx_flow_control_xoff",
        Pause,
        GIGABIT_C,
    ),
    info("alloc_rx_buff_failed", Shortage, GIGABIT_C),
];

const E1000_C: &str = "drivers/net/ethernet/intel/e1000/e1000_main.c: e1000_clean_tx_irq, e1000_clean_rx_irq";

const E1000: &[Row] = &[info(
    "rx_csum_offload_good|rx_csum_offload_errors",
    Offload,
    "drivers/net/ethernet/intel/e1000/e1000_main.c: e1000_rx_checksum",
)];

const E1000E: &[Row] = &[
    info(
        "rx_csum_offload_good|rx_csum_offload_errors",
        Offload,
        "drivers/net/ethernet/intel/e1000e/netdev.c: e1000_rx_checksum",
    ),
    info("rx_dma_failed", Shortage, "drivers/net/ethernet/intel/e1000e/netdev.c: e1000_alloc_rx_buffers"),
];

const QUEUES_C: &str = "drivers/net/ethernet/intel/igb/igb_main.c: igb_update_stats (igc likewise)";

/// With several queues the card drops frames that find no descriptor in their queue instead of stopping the other queues
/// (RQDPC). The driver adds these and MPC to `rx_fifo_errors`.
const GIGABIT_QUEUES: &[Row] = &[
    queue("rx_queue_{n}_drops", Missed, QUEUES_C).part("queues"),
    link(
        "rx_fifo_errors - rx_missed_errors",
        |stats| Some(stats.rx_fifo_errors?.saturating_sub(stats.rx_missed_errors?)),
        Missed,
        QUEUES_C,
    )
    .part("queues"),
    info("rx_queue_{n}_alloc_failed", Shortage, QUEUES_C),
    info("rx_queue_{n}_csum_err", Offload, QUEUES_C),
];

const IXGBE_C: &str = "drivers/net/ethernet/intel/ixgbe/ixgbe_main.c: ixgbe_update_stats";

/// `rx_missed_errors` is the sum of the registers MPC (packet buffer full). `rx_no_dma_resources` is the sum of QPRDC: frames
/// dropped at a queue without descriptors, if the driver configured the card to drop them.
const IXGBE: &[Row] = &[
    total("rx_missed_errors", Missed, IXGBE_C),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, IXGBE_C),
    total("rx_no_dma_resources", Missed, IXGBE_C).part("queues"),
    info("rx_no_buffer_count", Shortage, IXGBE_C),
    total("rx_crc_errors", Checksum, IXGBE_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, IXGBE_C),
    total("rx_length_errors", Length, IXGBE_C),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, IXGBE_C),
    info("rx_long_length_errors|rx_short_length_errors", Part, IXGBE_C),
    info("rx_errors|rx_dropped|rx_over_errors|rx_frame_errors|rx_fifo_errors", Part, IXGBE_C),
    info("rx_flow_control_xon|rx_flow_control_xoff|tx_flow_control_xon|tx_flow_control_xoff", Pause, IXGBE_C),
    info("rx_pb_{n}_pxon|rx_pb_{n}_pxoff|tx_pb_{n}_pxon|tx_pb_{n}_pxoff", Pause, IXGBE_C),
    info("alloc_rx_page_failed|alloc_rx_buff_failed", Shortage, IXGBE_C),
    info("hw_rsc_aggregated|hw_rsc_flushed", Offload, IXGBE_C),
    info("rx_csum_offload_errors", Offload, IXGBE_C),
];

const I40E_C: &str = "drivers/net/ethernet/intel/i40e/i40e_main.c: i40e_update_vsi_stats";
const I40E_PORT_C: &str = "drivers/net/ethernet/intel/i40e/i40e_main.c: i40e_update_pf_stats";

/// `rx_missed_errors` is GLV_RDPC: the interface's queues had no descriptor. `rx_dropped` is RXERR1: other reasons. Older
/// kernels call the former `rx_dropped`. `port.rx_discards` belongs to the port before the queues; the documentation does not
/// say that it excludes the others.
const I40E: &[Row] = &[
    total("rx_missed_errors", Missed, I40E_C),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, I40E_C),
    total("rx_dropped", Discarded, I40E_C),
    total("port.rx_discards", Overrun, I40E_PORT_C).unverified(),
    total("port.rx_crc_errors", Checksum, I40E_PORT_C),
    total("rx_crc_errors", Checksum, I40E_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, I40E_C),
    total("port.rx_length_errors", Length, I40E_PORT_C),
    total("rx_length_errors", Length, I40E_C),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, I40E_C),
    info("rx_errors", Part, I40E_C),
    info("port.rx_undersize|port.rx_fragments|port.rx_oversize|port.rx_jabber", Part, I40E_PORT_C),
    info("port.link_xon_rx|port.link_xoff_rx|port.link_xon_tx|port.link_xoff_tx", Pause, I40E_PORT_C),
    info("port.rx_priority_{n}_xon_rx|port.rx_priority_{n}_xoff_rx", Pause, I40E_PORT_C),
    info("port.tx_priority_{n}_xon_tx|port.tx_priority_{n}_xoff_tx", Pause, I40E_PORT_C),
    info("rx_alloc_fail|rx_pg_alloc_fail", Shortage, I40E_C),
    info("port.rx_csum_bad", Offload, I40E_PORT_C),
];

const ICE_C: &str = "drivers/net/ethernet/intel/ice/ice_main.c: ice_update_vsi_stats";
const ICE_PORT_C: &str = "drivers/net/ethernet/intel/ice/ice_main.c: ice_update_pf_stats";

/// `rx_dropped` counts the interface's queues (GLV_RDPC), `rx_dropped.nic` the port's packet buffer (PRTRPB_RDPC). The driver
/// keeps the latter as `rx_missed_errors` but does not copy it to the link statistics.
const ICE: &[Row] = &[
    total("rx_dropped", Missed, ICE_C),
    total("rx_dropped.nic", Overrun, ICE_PORT_C),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Overrun, ICE_C),
    total("rx_crc_errors.nic", Checksum, ICE_PORT_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, ICE_C),
    total("rx_undersize.nic|rx_oversize.nic|rx_fragments.nic|rx_jabber.nic", Length, ICE_C),
    info("link_xon_rx.nic|link_xoff_rx.nic|link_xon_tx.nic|link_xoff_tx.nic", Pause, ICE_PORT_C),
    info("rx_priority_{n}_xon.nic|rx_priority_{n}_xoff.nic", Pause, ICE_PORT_C),
    info("tx_priority_{n}_xon.nic|tx_priority_{n}_xoff.nic", Pause, ICE_PORT_C),
    info("rx_alloc_fail|rx_pg_alloc_fail", Shortage, ICE_C),
    info("rx_csum_bad.nic|rx_eipe_error.nic", Offload, ICE_PORT_C),
];
