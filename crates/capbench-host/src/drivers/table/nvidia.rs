//! NVIDIA's (Mellanox's) drivers: mlx5_core, mlx4_en.

use super::Meaning::{
    Checksum, Driver as DriverDrop, Filtered, Framing, Length, Missed, Offload, Overrun, Part, Pause,
    Shortage, Xdp,
};
use super::{Driver, REDIRECT, Row, info, link, queue, total};

pub(super) static DRIVERS: &[Driver] = &[
    Driver::new(&["mlx5_core"], &[MLX5]),
    // The driver updates its counters every 250 ms, not on reading (STATS_DELAY in mlx4_en.h).
    Driver::new(&["mlx4_en"], &[MLX4]).refreshed_every(250),
];

const MLX5_RST: &str =
    "Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst: Descriptions";
const MLX5_C: &str = "drivers/net/ethernet/mellanox/mlx5/core/en_main.c: mlx5e_get_stats";
const MLX5_XDP_C: &str = "drivers/net/ethernet/mellanox/mlx5/core/en/xdp.c: mlx5e_xdp_handle";

/// `rx_out_of_buffer` is the source of `rx_missed_errors`. `rx_discards_phy` counts frames dropped earlier, at the port, and is
/// in no field.
const MLX5: &[Row] = &[
    total("rx_out_of_buffer", Missed, MLX5_RST),
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, MLX5_C),
    total("rx_discards_phy", Overrun, MLX5_RST),
    info("rx_prio{n}_discards|rx_prio{n}_buf_discard|rx_prio{n}_cong_discard", Part, MLX5_RST),
    total("rx_crc_errors_phy", Checksum, MLX5_RST),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, MLX5_C),
    total("rx_symbol_err_phy", Framing, MLX5_RST),
    link("rx_frame_errors", |stats| stats.rx_frame_errors, Framing, MLX5_C).part("alignment"),
    total(
        "rx_in_range_len_errors_phy|rx_out_of_range_len_phy|rx_oversize_pkts_phy|rx_oversize_pkts_buffer",
        Length,
        MLX5_C,
    ),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, MLX5_C),
    info("rx_undersize_pkts_phy|rx_fragments_phy|rx_jabbers_phy", Part, MLX5_RST),
    total("rx_oversize_pkts_sw_drop", DriverDrop, MLX5_RST),
    queue("rx{n}_oversize_pkts_sw_drop", DriverDrop, MLX5_RST),
    total("rx_xsk_oversize_pkts_sw_drop", DriverDrop, MLX5_RST).part("xsk"),
    queue("rx{n}_xsk_oversize_pkts_sw_drop", DriverDrop, MLX5_RST).part("xsk"),
    total("rx_xdp_drop", Xdp, MLX5_RST),
    queue("rx{n}_xdp_drop", Xdp, MLX5_RST),
    total("rx_xsk_xdp_drop", Xdp, MLX5_XDP_C).part("xsk"),
    queue("rx{n}_xsk_xdp_drop", Xdp, MLX5_XDP_C).part("xsk"),
    total("rx_xdp_tx_full", Xdp, MLX5_XDP_C).part("tx"),
    queue("rx{n}_xdp_tx_full", Xdp, MLX5_XDP_C).part("tx"),
    total("outbound_pci_buffer_overflow", Overrun, MLX5_RST).part("pci").unverified(),
    total("dev_internal_queue_oob", Missed, MLX5_RST).part("internal").unverified(),
    info("rx_steer_missed_packets", Filtered, MLX5_RST),
    info("rx_buff_alloc_err|rx_xsk_buff_alloc_err|rx_wqe_err|rx_xsk_wqe_err", Shortage, MLX5_RST),
    info("rx{n}_buff_alloc_err|rx{n}_xsk_buff_alloc_err|rx{n}_wqe_err|rx{n}_xsk_wqe_err", Shortage, MLX5_RST),
    info("rx_buffer_passed_thres_phy", Shortage, MLX5_RST),
    info("rx_pause_ctrl_phy|tx_pause_ctrl_phy|rx_global_pause|tx_global_pause", Pause, MLX5_RST),
    info("rx_prio{n}_pause|tx_prio{n}_pause|tx_pause_storm_warning_events", Pause, MLX5_RST),
    info("rx_lro_packets|rx_gro_packets|rx_gro_skbs|rx_removed_vlan_packets", Offload, MLX5_RST),
    info("rx{n}_lro_packets|rx{n}_gro_packets|rx{n}_gro_skbs|rx{n}_removed_vlan_packets", Offload, MLX5_RST),
];

const MLX4_C: &str = "drivers/net/ethernet/mellanox/mlx4/en_port.c: mlx4_en_DUMP_ETH_STATS";
const MLX4_RX_C: &str = "drivers/net/ethernet/mellanox/mlx4/en_rx.c: mlx4_en_process_rx_cq";

/// The documentation does not say whether `rx_dropped` (RDROP) contains overflows and length errors.
const MLX4: &[Row] = &[
    total("rx_fifo_errors", Overrun, MLX4_C),
    link("rx_fifo_errors", |stats| stats.rx_fifo_errors, Overrun, MLX4_C),
    total("rx_dropped", Missed, MLX4_C).unverified(),
    total("rx_crc_errors", Checksum, MLX4_C),
    link("rx_crc_errors", |stats| stats.rx_crc_errors, Checksum, MLX4_C),
    total("rx_length_errors", Length, MLX4_C),
    link("rx_length_errors", |stats| stats.rx_length_errors, Length, MLX4_C),
    info("rx_errors|rx_jabbers|rx_in_range_length_error|rx_out_range_length_error", Part, MLX4_C),
    queue("rx{n}_dropped", DriverDrop, MLX4_C),
    queue("rx{n}_xdp_drop", Xdp, MLX4_RX_C),
    queue("rx{n}_xdp_redirect_fail", Xdp, MLX4_RX_C).part(REDIRECT),
    queue("rx{n}_xdp_tx_full", Xdp, MLX4_RX_C).part("tx"),
    info("rx_pause|tx_pause|rx_pause_prio_{n}|tx_pause_prio_{n}", Pause, MLX4_C),
];
