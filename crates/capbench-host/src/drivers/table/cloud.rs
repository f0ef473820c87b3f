//! Drivers of paravirtual cards: ena (Amazon), gve (Google), hv_netvsc (Microsoft), virtio_net, vmxnet3 (VMware), and veth.

use super::FrameCounts::{Each, EachNotRefused};
use super::Meaning::{
    Allowance, Diverted, Driver as DriverDrop, Framing, Missed, NoMemory, Offload, Part, Shortage, Transmit,
    Xdp,
};
use super::{Driver, REDIRECT, Row, info, link, queue, total};

pub(super) static DRIVERS: &[Driver] = &[
    Driver::new(&["ena"], &[ENA]).refreshed_every(2000),
    Driver::new(&["gve"], &[GVE])
        .refreshed_every(2000)
        .blind_to("the card reports what it dropped every 20 s only"),
    Driver::new(&["hv_netvsc"], &[NETVSC]).blind_to(
        "its host does not report frames without a buffer; with accelerated networking the virtual function's driver counts",
    ),
    Driver::new(&["virtio_net"], &[VIRTIO])
        .blind_to("its host does not report frames without a buffer")
        .counting(Each("drivers/net/virtio_net.c: virtnet_stats")),
    Driver::new(&["vmxnet3"], &[VMXNET3]),
    // Its rx_packets are the other end's tx_packets, and that does not count what it could not pass on.
    Driver::new(&["veth"], &[VETH]).counting(EachNotRefused(VETH_STATS_C)),
];

const ENA_H: &str = "drivers/net/ethernet/amazon/ena/ena_admin_defs.h: struct ena_admin_eni_stats";
const ENA_C: &str = "drivers/net/ethernet/amazon/ena/ena_netdev.c: ena_get_stats64, ena_keep_alive_wd";
const ENA_XDP_C: &str = "drivers/net/ethernet/amazon/ena/ena_xdp.h: ena_xdp_execute";

/// No counter of the driver contains the card's drops. It sets `rx_missed_errors`, `rx_fifo_errors` and all errors to 0. It
/// reports the card's drops as `rx_dropped`, and the stack adds its drops to that. The allowances count shaped packets: delayed or
/// dropped.
const ENA: &[Row] = &[
    link("rx_dropped", |stats| stats.rx_dropped, Missed, ENA_C)
        .less("queue_{n}_rx_xdp_drop")
        .at_most()
        .in_rx_dropped(),
    total("bw_in_allowance_exceeded", Allowance, ENA_H).part("bandwidth").at_most().unverified(),
    total("pps_allowance_exceeded", Allowance, ENA_H).part("packets").at_most().unverified(),
    total("conntrack_allowance_exceeded", Allowance, ENA_H).part("conntrack").at_most().unverified(),
    total("linklocal_allowance_exceeded", Allowance, ENA_H).part("linklocal").at_most().unverified(),
    total("bw_out_allowance_exceeded", Allowance, ENA_H).part("out").at_most().unverified(),
    queue("queue_{n}_rx_xdp_drop", Xdp, ENA_XDP_C).in_rx_dropped(),
    queue("queue_{n}_rx_xdp_aborted", Xdp, ENA_XDP_C).part("aborted"),
    queue("queue_{n}_rx_xdp_invalid", Xdp, ENA_XDP_C).part("invalid"),
    info(
        "queue_{n}_rx_page_alloc_fail|queue_{n}_rx_skb_alloc_fail|queue_{n}_rx_refil_partial",
        Shortage,
        ENA_C,
    ),
    info("queue_{n}_rx_empty_rx_ring|queue_{n}_rx_bad_desc_num|queue_{n}_rx_bad_req_id", Shortage, ENA_C),
    info("queue_{n}_rx_csum_bad|queue_{n}_rx_csum_good|queue_{n}_rx_csum_unchecked", Offload, ENA_C),
];

const GVE_C: &str = "drivers/net/ethernet/google/gve/gve_ethtool.c: gve_get_ethtool_stats";

/// None of it is in the link statistics.
const GVE: &[Row] = &[
    queue("rx_no_buffers_posted[{n}]", Missed, GVE_C).unverified(),
    queue("rx_queue_drop_cnt[{n}]", Missed, GVE_C).unverified(),
    queue("rx_drops_packet_over_mru[{n}]", Missed, GVE_C).part("over mru").unverified(),
    queue("rx_drops_invalid_checksum[{n}]", Missed, GVE_C).part("checksum").unverified(),
    total("rx_skb_alloc_fail", NoMemory, GVE_C),
    total("rx_desc_err_dropped_pkt", DriverDrop, GVE_C),
    info("rx_dropped|rx_dropped_pkt[{n}]", Part, GVE_C),
    info("rx_buf_alloc_fail|page_alloc_fail", Shortage, GVE_C),
    queue("rx_xdp_drop[{n}]", Xdp, GVE_C),
    queue("rx_xdp_aborted[{n}]", Xdp, GVE_C).part("aborted"),
    queue("rx_xdp_tx_errors[{n}]", Xdp, GVE_C).part("tx"),
    queue("rx_xdp_redirect_errors[{n}]", Xdp, GVE_C).part(REDIRECT),
    info("rx_hsplit_pkt", Offload, GVE_C),
];

const NETVSC_C: &str = "drivers/net/hyperv/netvsc_drv.c: netvsc_recv_callback";

const NETVSC: &[Row] = &[
    total("rx_no_memory", NoMemory, NETVSC_C),
    queue("rx_queue_{n}_xdp_drop", Xdp, NETVSC_C),
    info("rx_comp_busy", Shortage, "drivers/net/hyperv/netvsc.c: enq_receive_complete"),
    info("tx_no_memory|tx_no_space|tx_too_big|tx_busy|tx_send_full|vf_tx_dropped", Transmit, NETVSC_C),
];

const VIRTIO_C: &str = "drivers/net/virtio_net.c: receive_small, receive_mergeable, virtnet_stats";

/// `drops` contains `xdp_drops`. Linux 6.1 names queues `rx_queue_0_`, later versions `rx0_` and also report totals.
/// `rx_length_errors` is partly contained in `drops` and so is omitted.
const VIRTIO: &[Row] = &[
    total("rx_drops", DriverDrop, VIRTIO_C).less("rx_xdp_drops"),
    queue("rx{n}_drops|rx_queue_{n}_drops", DriverDrop, VIRTIO_C)
        .less("rx{n}_xdp_drops|rx_queue_{n}_xdp_drops"),
    total("rx_xdp_drops", Xdp, VIRTIO_C),
    queue("rx{n}_xdp_drops|rx_queue_{n}_xdp_drops", Xdp, VIRTIO_C),
    link("rx_frame_errors", |stats| stats.rx_frame_errors, Framing, VIRTIO_C),
];

const VMXNET3_C: &str = "drivers/net/vmxnet3/vmxnet3_ethtool.c: vmxnet3_get_stats64, vmxnet3_rq_dev_stats";
const VMXNET3_DRIVER_C: &str = "drivers/net/vmxnet3/vmxnet3_drv.c: vmxnet3_rx_error, vmxnet3_rq_rx_complete";
const VMXNET3_XDP_C: &str = "drivers/net/vmxnet3/vmxnet3_xdp.c: vmxnet3_run_xdp";

/// Each queue uses the same names, once each. `pkts rx OOB` (out of buffers) is in no field of the link statistics: there,
/// missed frames only show as absent.
const VMXNET3: &[Row] = &[
    queue("  pkts rx OOB", Missed, VMXNET3_C),
    queue("  drv dropped rx total", DriverDrop, VMXNET3_DRIVER_C),
    info("     err|     fcs", Part, VMXNET3_DRIVER_C),
    queue("  pkts rx err", Framing, VMXNET3_C).unverified(),
    info("  rx buf alloc fail", Shortage, VMXNET3_DRIVER_C),
    queue("     xdp drops", Xdp, VMXNET3_XDP_C),
    queue("     xdp aborted", Xdp, VMXNET3_XDP_C).part("aborted"),
    info("  LRO pkts rx|  LRO byte rx", Offload, VMXNET3_C),
    info("  drv dropped tx total|  pkts tx err|  pkts tx discard|  ring full", Transmit, VMXNET3_C),
    info("     too many frags|     giant hdr|     hdr err|     tso", Transmit, VMXNET3_C),
];

const VETH_STATS_C: &str = "drivers/net/veth.c: veth_get_stats64";
const VETH_C: &str = "drivers/net/veth.c: veth_xdp_rcv_skb, veth_xdp_rcv_one";

/// There is no hardware that could miss frames. The other counters change only if frames go through NAPI with an XDP program.
/// `drops` are frames that could not be prepared for the program, or that it could not send or redirect; `xdp_drops` are those
/// that it dropped or aborted.
const VETH: &[Row] = &[
    link("rx_missed_errors", |stats| stats.rx_missed_errors, Missed, VETH_STATS_C),
    queue("rx_queue_{n}_drops", DriverDrop, VETH_C).part(REDIRECT),
    queue("rx_queue_{n}_xdp_drops", Xdp, VETH_C),
    info("rx_queue_{n}_xdp_packets", Part, VETH_C).polled(),
    info("rx_queue_{n}_xdp_redirect|rx_queue_{n}_xdp_tx", Diverted, VETH_C),
    info("rx_queue_{n}_xdp_tx_errors", Part, VETH_C),
    info("tx_queue_{n}_xdp_xmit_errors", Transmit, VETH_C),
];
