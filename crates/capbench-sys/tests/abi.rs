//! The structures in memory shared with the kernel, against the system's kernel headers. A C program that includes
//! `linux/if_packet.h` and `linux/if_xdp.h` prints sizes and offsets. Each must equal that of this crate.

use std::collections::BTreeMap;
use std::mem::{offset_of, size_of};
use std::process::Command;

macro_rules! layout {
    ($table:ident, $($name:ident { $($field:ident),* $(,)? })*) => {$(
        $table.insert(concat!("sizeof ", stringify!($name)).to_string(), size_of::<libc::$name>());
        $($table.insert(
            concat!(stringify!($name), ".", stringify!($field)).to_string(),
            offset_of!(libc::$name, $field),
        );)*
    )*};
}

fn ours() -> BTreeMap<String, usize> {
    let mut table = BTreeMap::new();
    layout! { table,
        tpacket_hdr { tp_status, tp_len, tp_snaplen, tp_mac, tp_net, tp_sec, tp_usec }
        tpacket2_hdr { tp_status, tp_len, tp_snaplen, tp_mac, tp_net, tp_sec, tp_nsec, tp_vlan_tci, tp_vlan_tpid }
        tpacket3_hdr { tp_next_offset, tp_sec, tp_nsec, tp_snaplen, tp_len, tp_status, tp_mac, tp_net, hv1 }
        tpacket_hdr_variant1 { tp_rxhash, tp_vlan_tci, tp_vlan_tpid }
        tpacket_block_desc { version, offset_to_priv, hdr }
        tpacket_hdr_v1 { block_status, num_pkts, offset_to_first_pkt, blk_len, seq_num, ts_first_pkt, ts_last_pkt }
        tpacket_req { tp_block_size, tp_block_nr, tp_frame_size, tp_frame_nr }
        tpacket_req3 {
            tp_block_size, tp_block_nr, tp_frame_size, tp_frame_nr, tp_retire_blk_tov, tp_sizeof_priv,
            tp_feature_req_word
        }
        tpacket_stats { tp_packets, tp_drops }
        tpacket_stats_v3 { tp_packets, tp_drops, tp_freeze_q_cnt }
        tpacket_auxdata { tp_status, tp_len, tp_snaplen, tp_mac, tp_net, tp_vlan_tci, tp_vlan_tpid }
        sockaddr_ll { sll_family, sll_protocol, sll_ifindex, sll_hatype, sll_pkttype, sll_halen, sll_addr }
        packet_mreq { mr_ifindex, mr_type, mr_alen, mr_address }
        sockaddr_xdp { sxdp_family, sxdp_flags, sxdp_ifindex, sxdp_queue_id, sxdp_shared_umem_fd }
        xdp_ring_offset { producer, consumer, desc, flags }
        xdp_mmap_offsets { rx, tx, fr, cr }
        xdp_umem_reg { addr, len, chunk_size, headroom, flags }
        xdp_statistics {
            rx_dropped, rx_invalid_descs, tx_invalid_descs, rx_ring_full, rx_fill_ring_empty_descs,
            tx_ring_empty_descs
        }
        xdp_options { flags }
        xdp_desc { addr, len, options }
    }
    for (name, value) in [
        ("TPACKET_HDRLEN", libc::TPACKET_HDRLEN),
        ("TPACKET2_HDRLEN", libc::TPACKET2_HDRLEN),
        ("TPACKET3_HDRLEN", libc::TPACKET3_HDRLEN),
        ("TPACKET_ALIGNMENT", libc::TPACKET_ALIGNMENT),
        ("TP_STATUS_LOSING", libc::TP_STATUS_LOSING as usize),
        ("TP_STATUS_BLK_TMO", libc::TP_STATUS_BLK_TMO as usize),
        ("TP_STATUS_VLAN_VALID", libc::TP_STATUS_VLAN_VALID as usize),
        ("TP_STATUS_VLAN_TPID_VALID", libc::TP_STATUS_VLAN_TPID_VALID as usize),
        ("TP_STATUS_SEND_REQUEST", libc::TP_STATUS_SEND_REQUEST as usize),
        ("TP_FT_REQ_FILL_RXHASH", libc::TP_FT_REQ_FILL_RXHASH as usize),
        ("PACKET_VERSION", libc::PACKET_VERSION as usize),
        ("PACKET_STATISTICS", libc::PACKET_STATISTICS as usize),
        ("PACKET_IGNORE_OUTGOING", libc::PACKET_IGNORE_OUTGOING as usize),
        ("PACKET_QDISC_BYPASS", libc::PACKET_QDISC_BYPASS as usize),
        ("PACKET_VNET_HDR", libc::PACKET_VNET_HDR as usize),
        ("AF_XDP", libc::AF_XDP as usize),
        ("XDP_SHARED_UMEM", libc::XDP_SHARED_UMEM as usize),
        ("XDP_COPY", libc::XDP_COPY as usize),
        ("XDP_ZEROCOPY", libc::XDP_ZEROCOPY as usize),
        ("XDP_USE_NEED_WAKEUP", libc::XDP_USE_NEED_WAKEUP as usize),
        ("XDP_RING_NEED_WAKEUP", libc::XDP_RING_NEED_WAKEUP as usize),
        ("XDP_MMAP_OFFSETS", libc::XDP_MMAP_OFFSETS as usize),
        ("XDP_RX_RING", libc::XDP_RX_RING as usize),
        ("XDP_TX_RING", libc::XDP_TX_RING as usize),
        ("XDP_UMEM_REG", libc::XDP_UMEM_REG as usize),
        ("XDP_UMEM_FILL_RING", libc::XDP_UMEM_FILL_RING as usize),
        ("XDP_UMEM_COMPLETION_RING", libc::XDP_UMEM_COMPLETION_RING as usize),
        ("XDP_STATISTICS", libc::XDP_STATISTICS as usize),
        ("XDP_OPTIONS", libc::XDP_OPTIONS as usize),
        ("XDP_OPTIONS_ZEROCOPY", libc::XDP_OPTIONS_ZEROCOPY as usize),
        ("XDP_PGOFF_RX_RING", libc::XDP_PGOFF_RX_RING as usize),
        ("XDP_PGOFF_TX_RING", libc::XDP_PGOFF_TX_RING as usize),
        ("XDP_UMEM_PGOFF_FILL_RING", libc::XDP_UMEM_PGOFF_FILL_RING as usize),
        ("XDP_UMEM_PGOFF_COMPLETION_RING", libc::XDP_UMEM_PGOFF_COMPLETION_RING as usize),
        ("XDP_PACKET_HEADROOM", capbench_sys::xdp::umem::KERNEL_HEADROOM as usize),
        ("SO_BUSY_POLL", libc::SO_BUSY_POLL as usize),
        ("SO_INCOMING_NAPI_ID", libc::SO_INCOMING_NAPI_ID as usize),
        ("SO_PREFER_BUSY_POLL", libc::SO_PREFER_BUSY_POLL as usize),
        ("SO_BUSY_POLL_BUDGET", libc::SO_BUSY_POLL_BUDGET as usize),
    ] {
        table.insert(name.to_string(), value);
    }
    table
}

#[test]
fn structures_equal_the_kernel_headers() {
    let ours = ours();
    let expression = |name: &str| match (name.strip_prefix("sizeof "), name.split_once('.')) {
        (Some(structure), _) => format!("sizeof(struct {structure})"),
        (None, Some((structure, field))) => format!("offsetof(struct {structure}, {field})"),
        (None, None) => name.to_string(),
    };
    let prints: String = ours
        .keys()
        .map(|name| format!("printf(\"{name}=%zu\\n\", (size_t)({}));\n", expression(name)))
        .collect();
    let source = format!(
        "#include <stdio.h>\n#include <stddef.h>\n#include <sys/socket.h>\n#include <linux/bpf.h>\n#include <linux/if_packet.h>\n#include <linux/if_xdp.h>\nint main(void) {{ {prints} return 0; }}\n"
    );
    let folder = capbench_testing::Scratch::new();
    let (file, program) = (folder.file("abi.c"), folder.file("abi"));
    std::fs::write(&file, source).unwrap();
    let compiled = Command::new("cc").arg("-o").arg(&program).arg(&file).status().expect("a C compiler, cc");
    assert!(compiled.success(), "the kernel headers (linux-libc-dev) are needed");
    let output = Command::new(&program).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let theirs: BTreeMap<String, usize> = text
        .lines()
        .map(|line| line.split_once('=').unwrap())
        .map(|(name, value)| (name.to_string(), value.parse().unwrap()))
        .collect();
    assert_eq!(ours, theirs);
}
