//! The program of [`FanoutMode::Program`](crate::FanoutMode): classic BPF, whose result the kernel takes modulo the number of members.
//!
//! It adds the two addresses, and the two ports of TCP, UDP and SCTP, so that both directions of a connection have one result, and
//! mixes the sums. A fragment counts by its addresses only. Frames that are neither IPv4 nor IPv6 behind up to one VLAN tag go to the
//! first member. A load beyond the frame ends it with 0. A received frame begins behind its Ethernet header, one that this host sends
//! begins with it (`packet_rcv_fanout` and `dev_queue_xmit_nit`). On a link without Ethernet both begin with the IP packet.

use capbench_sys::packet::FilterInstruction;

/// Where the kernel's own fields of a frame begin: `SKF_AD_OFF` of linux/filter.h.
const OF_KERNEL: u32 = (-0x1000i32) as u32;

const fn step(code: u16, k: u32) -> FilterInstruction {
    FilterInstruction { code, jt: 0, jf: 0, k }
}

const fn jump(code: u16, k: u32, jt: u8, jf: u8) -> FilterInstruction {
    FilterInstruction { code, jt, jf, k }
}

/// The steps for links with `header` octets before the IP packet, named as bpf_asm(1) does. X is the offset of the network header while addresses are read. Memory: 0 the sum of the
/// addresses, 1 the offset of the network header, 2 that of the transport header, 3 a port.
pub(super) const fn by_flow(header: u32) -> [FilterInstruction; 89] {
    let (ldh_abs, ld, ldh, ldb) = (0x28, 0x40, 0x48, 0x50);
    let (ldx, st, stx, ld_mem, ldx_mem, tax, txa) = (0x01, 0x02, 0x03, 0x60, 0x61, 0x07, 0x87);
    let (add, add_x, mul, and, lsh, rsh, xor_x) = (0x04, 0x0c, 0x24, 0x54, 0x64, 0x74, 0xac);
    let (ja, jeq, jset, ret, ret_a) = (0x05, 0x15, 0x45, 0x06, 0x16);
    let mut all = [step(ret, 0); 89];
    let before = [
        step(ldh_abs, OF_KERNEL + 4), // SKF_AD_PKTTYPE
        step(ldx, 0),
        jump(jeq, 4, 0, 1), // PACKET_OUTGOING
        step(ldx, header),
        step(stx, 1),
        step(ldh_abs, OF_KERNEL), // SKF_AD_PROTOCOL
        jump(jeq, 0x86dd, 17, 0),
        jump(jeq, 0x0800, 0, 80),
        // 8: IPv4.
        step(ld, 12),
        step(st, 0),
        step(ld, 16),
        step(ldx_mem, 0),
        step(add_x, 0),
        step(st, 0),
        step(ldx_mem, 1),
        step(ldh, 6),
        jump(jset, 0x3fff, 61, 0), // a fragment
        step(ldb, 0),
        step(and, 0xf),
        step(lsh, 2),
        step(add_x, 0),
        step(st, 2),
        step(ldb, 9),
        step(ja, 41),
        // 24: IPv6.
        step(ld, 8),
        step(st, 0),
    ];
    let after = [
        step(txa, 0),
        step(add, 40),
        step(st, 2),
        step(ldb, 6),
        // 65: the transport protocol.
        jump(jeq, 6, 2, 0),    // TCP
        jump(jeq, 17, 1, 0),   // UDP
        jump(jeq, 132, 0, 10), // SCTP
        step(ldx_mem, 2),
        step(ldh, 0),
        step(st, 3),
        step(ldh, 2),
        step(ldx_mem, 3),
        step(add_x, 0),
        step(mul, 0x9e37_79b1),
        step(ldx_mem, 0),
        step(xor_x, 0),
        step(ja, 1),
        // 78: without ports.
        step(ld_mem, 0),
        // 79: the finalizer of MurmurHash3, of 32 bits.
        step(mul, 0x85eb_ca6b),
        step(tax, 0),
        step(rsh, 16),
        step(xor_x, 0),
        step(mul, 0xc2b2_ae35),
        step(tax, 0),
        step(rsh, 15),
        step(xor_x, 0),
        step(ret_a, 0),
    ];
    let mut at = 0;
    while at < before.len() {
        all[at] = before[at];
        at += 1;
    }
    let mut word = 12;
    while word < 40 {
        let sum = [step(ld, word), step(ldx_mem, 0), step(add_x, 0), step(st, 0), step(ldx_mem, 1)];
        let mut of_word = 0;
        while of_word < sum.len() {
            all[at] = sum[of_word];
            (at, of_word) = (at + 1, of_word + 1);
        }
        word += 4;
    }
    let mut rest = 0;
    while rest < after.len() {
        all[at] = after[rest];
        (at, rest) = (at + 1, rest + 1);
    }
    // One more is there: frames of no network protocol that it knows go to the first member.
    assert!(at + 1 == all.len());
    all
}
