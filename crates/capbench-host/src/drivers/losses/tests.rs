//! Examples for each driver: names as its source has them, numbers of our own.

use proptest::prelude::*;

use super::Meaning::{
    Allowance, Checksum, Discarded, Driver, Framing, Length, Missed, NoMemory, Overrun, Xdp,
};
use super::{CounterDelta, LinkDeltas, LinkStats, Meaning, nic_losses};
use crate::drivers::{known, table};

fn deltas(text: &str) -> Vec<CounterDelta> {
    text.lines()
        .filter_map(|line| line.rsplit_once(": "))
        .map(|(name, count)| CounterDelta {
            name: name.into(),
            count: count.parse().unwrap(),
            by_register: false,
        })
        .collect()
}

/// What was lost, zeros aside.
fn lost(driver: &str, link: LinkStats, counters: &str) -> Vec<(Meaning, u64)> {
    let losses = nic_losses(Some(known(driver).unwrap()), Some(&LinkDeltas::from(&link)), &deltas(counters));
    losses.iter().filter(|loss| loss.count > 0).map(|loss| (loss.meaning, loss.count)).collect()
}

fn source(driver: &str, link: LinkStats, counters: &str) -> String {
    let losses = nic_losses(Some(known(driver).unwrap()), Some(&LinkDeltas::from(&link)), &deltas(counters));
    losses.into_iter().find(|loss| loss.count > 0).unwrap().source
}

#[test]
fn each_loss_of_a_driver_counts_once() {
    let none = LinkStats::default();
    let gigabit = LinkStats { rx_missed_errors: 900, rx_errors: 900, ..none };
    let gigabit_counters =
        "rx_missed_errors: 1000\nrx_no_buffer_count: 5000\nrx_packets: 7\nrx_errors: 900\n";
    let igb = LinkStats { rx_missed_errors: 30, rx_fifo_errors: 130, ..none };
    let virtio = LinkStats { rx_dropped: 13, rx_length_errors: 1, ..none };
    let others = LinkStats { rx_missed_errors: 7, rx_fifo_errors: 5, ..none };
    for (driver, link, counters, expected) in [
        ("e1000", gigabit, gigabit_counters, &[(Missed, 1000)][..]),
        ("e1000e", gigabit, gigabit_counters, &[(Missed, 1000)]),
        ("igc", gigabit, gigabit_counters, &[(Missed, 1000)]),
        // igb adds both the FIFO's and the queues' drops to `rx_fifo_errors`, and the FIFO's alone to `rx_missed_errors`.
        (
            "igb",
            igb,
            "rx_missed_errors: 30\nrx_queue_0_drops: 60\nrx_queue_1_drops: 40\nrx_fifo_errors: 130\n",
            &[(Missed, 30), (Missed, 100)],
        ),
        ("igb", igb, "", &[(Missed, 30), (Missed, 100)]),
        // The packet buffer and the queues lose apart from each other.
        (
            "ixgbe",
            LinkStats { rx_missed_errors: 30, rx_errors: 2, rx_crc_errors: 2, ..none },
            "rx_errors: 2\nrx_crc_errors: 2\nrx_missed_errors: 30\nrx_no_dma_resources: 70\nfdir_miss: 800\n\
             rx_no_buffer_count: 9\nrx_flow_control_xoff: 5\nalloc_rx_buff_failed: 4\n",
            &[(Missed, 30), (Missed, 70), (Checksum, 2)],
        ),
        // port.rx_discards is unverified.
        (
            "i40e",
            LinkStats { rx_missed_errors: 50, ..none },
            "rx_missed_errors: 50\nrx_dropped: 3\nport.rx_discards: 777\n",
            &[(Missed, 50), (Discarded, 3)],
        ),
        // ice does not pass the port's losses on to the link statistics.
        (
            "ice",
            LinkStats { rx_dropped: 10, ..none },
            "rx_dropped: 10\nrx_dropped.nic: 90\n",
            &[(Missed, 10), (Overrun, 90)],
        ),
        // Port and host lose apart from each other; the rings are parts of the whole.
        (
            "mlx5_core",
            LinkStats { rx_missed_errors: 40, rx_length_errors: 4, rx_errors: 4, ..none },
            "rx_out_of_buffer: 41\nrx_discards_phy: 100\nrx_prio0_discards: 100\nrx_oversize_pkts_phy: 3\n\
             rx_in_range_len_errors_phy: 1\nrx_xdp_drop: 9\nrx0_xdp_drop: 5\nrx1_xdp_drop: 4\n\
             rx_steer_missed_packets: 66\nrx_pause_ctrl_phy: 8\nrx0_xsk_xdp_drop: 2\n",
            &[(Missed, 41), (Overrun, 100), (Length, 4), (Xdp, 9), (Xdp, 2)],
        ),
        (
            "bnxt_en",
            LinkStats { rx_missed_errors: 70, rx_dropped: 5, ..none },
            "[0]: rx_discards: 30\n[1]: rx_discards: 40\nrx_total_ring_discards: 70\nrx_stat_discard: 70\n\
             rx_total_oom_discards: 5\nrx_total_l4_csum_errors: 6\n",
            &[(Missed, 70), (NoMemory, 5)],
        ),
        // vmxnet3's names are the same for each queue, and none of it reaches a field for losses.
        (
            "vmxnet3",
            LinkStats { rx_dropped: 3, ..none },
            "Rx Queue#: 0\n  pkts rx OOB: 60\n  drv dropped rx total: 3\n     err: 3\n     fcs: 1\n\
             Rx Queue#: 0\n  pkts rx OOB: 6\n  drv dropped rx total: 0\n     err: 0\n     fcs: 0\n",
            &[(Missed, 66), (Driver, 3)],
        ),
        // The drops contain those of XDP, under old and new names.
        (
            "virtio_net",
            virtio,
            "rx_queue_0_drops: 9\nrx_queue_0_xdp_drops: 6\nrx_queue_1_drops: 4\nrx_queue_1_xdp_drops: 4\n",
            &[(Driver, 3), (Xdp, 10)],
        ),
        ("virtio_net", virtio, VIRTIO, &[(Driver, 3), (Xdp, 10)]),
        (
            "gve",
            none,
            "rx_dropped: 12\nrx_skb_alloc_fail: 2\nrx_desc_err_dropped_pkt: 5\nrx_xdp_redirect_errors[0]: 5\n\
             rx_queue_drop_cnt[0]: 999\nrx_no_buffers_posted[0]: 999\n",
            &[(NoMemory, 2), (Driver, 5), (Xdp, 5)],
        ),
        ("tg3", others, "rx_discards: 7\nrxbds_empty: 70\n", &[(Missed, 7)]),
        (
            "sfc",
            others,
            "port_rx_nodesc_drops: 8\nport_rx_overflow: 6\nport_rx_pm_discard_bb_overflow: 6\n",
            &[(Missed, 8), (Overrun, 6)],
        ),
        ("mlx4_en", others, "rx_fifo_errors: 5\nrx_dropped: 5\n", &[(Overrun, 5)]),
        ("hv_netvsc", others, "rx_no_memory: 3\nrx_comp_busy: 5\n", &[(NoMemory, 3)]),
        ("enic", others, "rx_no_bufs: 3\nrx_drop: 5\n", &[(Missed, 3), (Discarded, 5)]),
        ("8139cp", others, "rx_fifo: 7\nrx_err: 7\n", &[(Missed, 7)]),
        (
            "veth",
            none,
            "peer_ifindex: 4\nrx_queue_0_xdp_packets: 50\nrx_queue_0_drops: 3\nrx_queue_0_xdp_drops: 40\n",
            &[(Driver, 3), (Xdp, 40)],
        ),
    ] {
        assert_eq!(lost(driver, link, counters), expected, "{driver}");
    }
    assert_eq!(source("e1000", gigabit, gigabit_counters), "driver counter rx_missed_errors");
    assert_eq!(source("e1000", gigabit, "rx_missed_errors: 3\n"), "link statistics rx_missed_errors");
    let row = known("i40e").unwrap().row_of("port.rx_discards").unwrap();
    assert!(!row.verified && row.meaning == Overrun, "it is shown with its meaning");
    let missed = nic_losses(known("virtio_net"), Some(&LinkDeltas::from(&virtio)), &deltas(VIRTIO));
    assert!(missed.iter().all(|loss| loss.meaning != Missed), "unknown, which is not 0");
}

const VIRTIO: &str =
    "rx_drops: 13\nrx_xdp_drops: 10\nrx0_drops: 9\nrx0_xdp_drops: 6\nrx1_drops: 4\nrx1_xdp_drops: 4\n";

/// ena says 0 in every field of the link statistics but `rx_dropped`, where the stack's drops are, too.
#[test]
fn ena_s_drops_are_at_most_as_many_as_the_link_statistics_say() {
    let link = LinkStats { rx_dropped: 500, ..LinkStats::default() };
    let counters = "bw_in_allowance_exceeded: 1200\npps_allowance_exceeded: 3\nqueue_0_rx_xdp_drop: 100\n\
                    queue_0_rx_empty_rx_ring: 4\n";
    assert_eq!(lost("ena", link, counters), [(Missed, 400), (Xdp, 100)]);
    let losses = nic_losses(known("ena"), Some(&LinkDeltas::from(&link)), &deltas(counters));
    assert!(!losses[0].exact && losses[1].exact);
    assert_eq!(known("ena").unwrap().row_of("pps_allowance_exceeded").unwrap().meaning, Allowance);
}

#[test]
fn a_driver_that_the_table_does_not_know_is_judged_by_the_link_statistics() {
    let link = LinkStats { rx_missed_errors: 9, rx_fifo_errors: 9, rx_crc_errors: 2, ..LinkStats::default() };
    let losses = nic_losses(
        None,
        Some(&LinkDeltas::from(&link)),
        &deltas("rx_drops_of_some_kind: 50\nrx_missed_errors: 99\n"),
    );
    let counts: Vec<_> = losses.iter().map(|loss| (loss.meaning, loss.count)).collect();
    assert_eq!(counts, [(Missed, 9), (Checksum, 2), (Length, 0), (Framing, 0)]);
    assert!(nic_losses(None, None, &[]).is_empty(), "nothing is known");
}

#[test]
fn a_counter_that_grows_by_being_read_outvotes_the_link_statistics_made_from_it() {
    let counters = [CounterDelta { name: "rx_missed_errors".into(), count: 20, by_register: true }];
    let link = LinkStats { rx_missed_errors: 5000, ..LinkStats::default() };
    let losses = nic_losses(known("e1000"), Some(&LinkDeltas::from(&link)), &counters);
    assert_eq!((losses[0].count, losses[0].meaning), (20, Missed));
    assert!(losses[0].source.contains("grows by being read"), "{}", losses[0].source);
}

proptest! {
    /// Names that no table knows change nothing.
    #[test]
    fn an_unknown_name_is_never_summed(
        names in proptest::collection::vec(("\\PC{0,31}", any::<u64>()), 0..40), which in any::<prop::sample::Index>(),
    ) {
        let drivers: Vec<_> = table::all().collect();
        let driver = drivers[which.index(drivers.len())];
        let all: Vec<_> = names
            .into_iter()
            .map(|(name, count)| CounterDelta { name, count, by_register: false })
            .collect();
        let unknown: Vec<_> = all.iter().filter(|delta| driver.row_of(&delta.name).is_none()).cloned().collect();
        prop_assert_eq!(
            nic_losses(Some(driver), Some(&LinkDeltas::from(&LinkStats::default())), &unknown),
            nic_losses(Some(driver), Some(&LinkDeltas::from(&LinkStats::default())), &[]),
        );
        nic_losses(Some(driver), None, &all);
        crate::drivers::raw(Some(driver), &all);
    }

    /// Known names of any driver in any mixture: no panic, and no loss is larger than what its witnesses say together.
    #[test]
    fn known_names_with_any_counts_do_no_harm(
        counts in proptest::collection::vec(any::<u64>(), 64), which in any::<prop::sample::Index>(),
    ) {
        let drivers: Vec<_> = table::all().collect();
        let driver = drivers[which.index(drivers.len())];
        let names = driver.rows().flat_map(|row| row.pattern.split('|')).map(|name| name.replace("{n}", "0"));
        let counters: Vec<_> = names
            .zip(&counts)
            .map(|(name, count)| CounterDelta { name, count: *count, by_register: false })
            .collect();
        let most = counters.iter().fold(0u64, |all, delta| all.saturating_add(delta.count));
        for loss in nic_losses(Some(driver), Some(&LinkDeltas::from(&LinkStats::default())), &counters) {
            prop_assert!(loss.count <= most);
        }
    }
}
