//! Examples for each driver: names as its source has them, numbers of our own.

use proptest::prelude::*;

use super::*;
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
fn one_loss_that_three_counters_tell_of_counts_once() {
    let link = LinkStats { rx_missed_errors: 900, rx_errors: 900, ..LinkStats::default() };
    let counters = "rx_missed_errors: 1000\nrx_no_buffer_count: 5000\nrx_packets: 7\nrx_errors: 900\n";
    for driver in ["e1000", "e1000e", "igc"] {
        assert_eq!(lost(driver, link, counters), [(Meaning::Missed, 1000)], "{driver}");
    }
    assert_eq!(source("e1000", link, counters), "driver counter rx_missed_errors");
    assert_eq!(source("e1000", link, "rx_missed_errors: 3\n"), "link statistics rx_missed_errors");
}

/// igb adds both the FIFO's and the queues' drops to `rx_fifo_errors`, and the FIFO's alone to `rx_missed_errors`.
#[test]
fn igb_s_queues_and_its_fifo_are_two_losses() {
    let link = LinkStats { rx_missed_errors: 30, rx_fifo_errors: 130, ..LinkStats::default() };
    let counters = "rx_missed_errors: 30\nrx_queue_0_drops: 60\nrx_queue_1_drops: 40\nrx_fifo_errors: 130\n";
    assert_eq!(lost("igb", link, counters), [(Meaning::Missed, 30), (Meaning::Missed, 100)]);
    assert_eq!(
        lost("igb", link, ""),
        [(Meaning::Missed, 30), (Meaning::Missed, 100)],
        "the link tells as much"
    );
}

#[test]
fn ixgbe_s_packet_buffer_and_its_queues_are_two_losses() {
    let link = LinkStats { rx_missed_errors: 30, rx_errors: 2, rx_crc_errors: 2, ..LinkStats::default() };
    let counters = "rx_errors: 2\nrx_crc_errors: 2\nrx_missed_errors: 30\nrx_no_dma_resources: 70\nfdir_miss: 800\n\
                    rx_no_buffer_count: 9\nrx_flow_control_xoff: 5\nalloc_rx_buff_failed: 4\n";
    assert_eq!(
        lost("ixgbe", link, counters),
        [(Meaning::Missed, 30), (Meaning::Missed, 70), (Meaning::Checksum, 2)]
    );
}

#[test]
fn what_could_not_be_made_sure_of_is_not_booked() {
    let link = LinkStats { rx_missed_errors: 50, ..LinkStats::default() };
    let counters = "rx_missed_errors: 50\nrx_dropped: 3\nport.rx_discards: 777\n";
    assert_eq!(lost("i40e", link, counters), [(Meaning::Missed, 50), (Meaning::Discarded, 3)]);
    let row = known("i40e").unwrap().row_of("port.rx_discards").unwrap();
    assert!(!row.verified && row.meaning == Meaning::Overrun, "it is shown with its meaning");
}

/// ice does not hand the port's losses on to the link statistics.
#[test]
fn ice_s_port_losses_stand_in_its_own_counters_only() {
    let link = LinkStats { rx_dropped: 10, ..LinkStats::default() };
    assert_eq!(
        lost("ice", link, "rx_dropped: 10\nrx_dropped.nic: 90\n"),
        [(Meaning::Missed, 10), (Meaning::Overrun, 90)]
    );
}

#[test]
fn mlx5_s_port_and_host_losses_differ_and_its_rings_are_parts_of_the_whole() {
    let link = LinkStats { rx_missed_errors: 40, rx_length_errors: 4, rx_errors: 4, ..LinkStats::default() };
    let counters = "rx_out_of_buffer: 41\nrx_discards_phy: 100\nrx_prio0_discards: 100\nrx_oversize_pkts_phy: 3\n\
                    rx_in_range_len_errors_phy: 1\nrx_xdp_drop: 9\nrx0_xdp_drop: 5\nrx1_xdp_drop: 4\n\
                    rx_steer_missed_packets: 66\nrx_pause_ctrl_phy: 8\nrx0_xsk_xdp_drop: 2\n";
    assert_eq!(
        lost("mlx5_core", link, counters),
        [
            (Meaning::Missed, 41),
            (Meaning::Overrun, 100),
            (Meaning::Length, 4),
            (Meaning::Xdp, 9),
            (Meaning::Xdp, 2)
        ]
    );
}

#[test]
fn bnxt_s_rings_are_parts_of_its_total() {
    let link = LinkStats { rx_missed_errors: 70, rx_dropped: 5, ..LinkStats::default() };
    let counters = "[0]: rx_discards: 30\n[1]: rx_discards: 40\nrx_total_ring_discards: 70\nrx_stat_discard: 70\n\
                    rx_total_oom_discards: 5\nrx_total_l4_csum_errors: 6\n";
    assert_eq!(lost("bnxt_en", link, counters), [(Meaning::Missed, 70), (Meaning::NoMemory, 5)]);
}

/// ena says 0 in every field of the link statistics but `rx_dropped`, where the stack's drops are, too.
#[test]
fn ena_s_drops_are_at_most_as_many_as_the_link_statistics_say() {
    let link = LinkStats { rx_dropped: 500, ..LinkStats::default() };
    let counters = "bw_in_allowance_exceeded: 1200\npps_allowance_exceeded: 3\nqueue_0_rx_xdp_drop: 100\n\
                    queue_0_rx_empty_rx_ring: 4\n";
    assert_eq!(lost("ena", link, counters), [(Meaning::Missed, 400), (Meaning::Xdp, 100)]);
    let losses = nic_losses(known("ena"), Some(&LinkDeltas::from(&link)), &deltas(counters));
    assert!(!losses[0].exact && losses[1].exact);
    assert_eq!(known("ena").unwrap().row_of("pps_allowance_exceeded").unwrap().meaning, Meaning::Allowance);
}

/// vmxnet3's names are the same for each queue, and none of it reaches a field for losses.
#[test]
fn vmxnet3_s_queues_add_up() {
    let counters = "Rx Queue#: 0\n  pkts rx OOB: 60\n  drv dropped rx total: 3\n     err: 3\n     fcs: 1\n\
                    Rx Queue#: 0\n  pkts rx OOB: 6\n  drv dropped rx total: 0\n     err: 0\n     fcs: 0\n";
    assert_eq!(
        lost("vmxnet3", LinkStats { rx_dropped: 3, ..LinkStats::default() }, counters),
        [(Meaning::Missed, 66), (Meaning::Driver, 3)]
    );
}

#[test]
fn virtio_s_drops_contain_those_of_xdp_under_old_and_new_names() {
    let expected = [(Meaning::Driver, 3), (Meaning::Xdp, 10)];
    let old = "rx_queue_0_drops: 9\nrx_queue_0_xdp_drops: 6\nrx_queue_1_drops: 4\nrx_queue_1_xdp_drops: 4\n";
    let new =
        "rx_drops: 13\nrx_xdp_drops: 10\nrx0_drops: 9\nrx0_xdp_drops: 6\nrx1_drops: 4\nrx1_xdp_drops: 4\n";
    let link = LinkStats { rx_dropped: 13, rx_length_errors: 1, ..LinkStats::default() };
    assert_eq!(lost("virtio_net", link, old), expected);
    assert_eq!(lost("virtio_net", link, new), expected);
    let missed = nic_losses(known("virtio_net"), Some(&LinkDeltas::from(&link)), &deltas(new));
    assert!(missed.iter().all(|loss| loss.meaning != Meaning::Missed), "it cannot tell, which is not 0");
}

#[test]
fn gve_s_link_statistics_tell_nothing() {
    let counters = "rx_dropped: 12\nrx_skb_alloc_fail: 2\nrx_desc_err_dropped_pkt: 5\nrx_xdp_redirect_errors[0]: 5\n\
                    rx_queue_drop_cnt[0]: 999\nrx_no_buffers_posted[0]: 999\n";
    assert_eq!(
        lost("gve", LinkStats::default(), counters),
        [(Meaning::NoMemory, 2), (Meaning::Driver, 5), (Meaning::Xdp, 5)]
    );
}

#[test]
fn the_other_drivers() {
    let link = LinkStats { rx_missed_errors: 7, rx_fifo_errors: 5, ..LinkStats::default() };
    assert_eq!(lost("tg3", link, "rx_discards: 7\nrxbds_empty: 70\n"), [(Meaning::Missed, 7)]);
    assert_eq!(
        lost(
            "sfc",
            link,
            "port_rx_nodesc_drops: 8\nport_rx_overflow: 6\nport_rx_pm_discard_bb_overflow: 6\n"
        ),
        [(Meaning::Missed, 8), (Meaning::Overrun, 6)]
    );
    assert_eq!(lost("mlx4_en", link, "rx_fifo_errors: 5\nrx_dropped: 5\n"), [(Meaning::Overrun, 5)]);
    assert_eq!(lost("hv_netvsc", link, "rx_no_memory: 3\nrx_comp_busy: 5\n"), [(Meaning::NoMemory, 3)]);
    assert_eq!(
        lost("enic", link, "rx_no_bufs: 3\nrx_drop: 5\n"),
        [(Meaning::Missed, 3), (Meaning::Discarded, 5)]
    );
    assert_eq!(lost("8139cp", link, "rx_fifo: 7\nrx_err: 7\n"), [(Meaning::Missed, 7)]);
    assert_eq!(
        lost(
            "veth",
            LinkStats::default(),
            "peer_ifindex: 4\nrx_queue_0_xdp_packets: 50\nrx_queue_0_drops: 3\nrx_queue_0_xdp_drops: 40\n"
        ),
        [(Meaning::Driver, 3), (Meaning::Xdp, 40)]
    );
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
    assert_eq!(
        counts,
        [(Meaning::Missed, 9), (Meaning::Checksum, 2), (Meaning::Length, 0), (Meaning::Framing, 0)]
    );
    assert!(nic_losses(None, None, &[]).is_empty(), "nothing is known");
}

#[test]
fn a_counter_that_grows_by_being_read_outvotes_the_link_statistics_made_from_it() {
    let counters = [CounterDelta { name: "rx_missed_errors".into(), count: 20, by_register: true }];
    let link = LinkStats { rx_missed_errors: 5000, ..LinkStats::default() };
    let losses = nic_losses(known("e1000"), Some(&LinkDeltas::from(&link)), &counters);
    assert_eq!((losses[0].count, losses[0].meaning), (20, Meaning::Missed));
    assert!(losses[0].source.contains("grows by being read"), "{}", losses[0].source);
}

proptest! {
    /// Names that no table knows change nothing, whatever they are called and count.
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
