/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What user space reads of a socket (records.rs has the same), and how it is filled in. */
#include "kernel.h"

struct record {
	__u64 inode, packets, dropped, full, starved;
	char name[16];
	__u32 process, space, interface, family, readable, protocol, version, receive_buffer, filtered, ignores_outgoing,
		blocks, block_pages, frames, frame_octets, reserve, freezes, fanout_members, fanout_id, fanout_type,
		has_ring, queue, zero_copy;
};

/* A member of the record from a member, or a member behind pointers, of the kernel's. */
#define TAKE(member, from, ...) (record->member = BPF_CORE_READ(from, __VA_ARGS__))

static void take_packet(struct packet_sock *socket, struct record *record)
{
	struct packet_ring_buffer *ring = &socket->rx_ring;
	struct packet_fanout *fanout = BPF_CORE_READ(socket, fanout);

	TAKE(interface, socket, ifindex);
	BPF_CORE_READ_STR_INTO(&record->name, socket, prot_hook.dev, name);
	record->protocol = bpf_ntohs(BPF_CORE_READ(socket, num));
	TAKE(version, socket, tp_version);
	TAKE(packets, socket, stats.stats3.tp_packets);
	record->dropped = (__u32)BPF_CORE_READ(socket, tp_drops.counter);
	TAKE(freezes, socket, stats.stats3.tp_freeze_q_cnt);
	TAKE(ignores_outgoing, socket, prot_hook.ignore_outgoing);
	record->has_ring = BPF_CORE_READ(ring, pg_vec) != 0;
	TAKE(blocks, ring, pg_vec_len);
	TAKE(block_pages, ring, pg_vec_pages);
	record->frames = BPF_CORE_READ(ring, frame_max) + 1;
	TAKE(frame_octets, ring, frame_size);
	TAKE(reserve, socket, tp_reserve);
	if (!fanout)
		return;
	TAKE(fanout_members, fanout, num_members);
	TAKE(fanout_id, fanout, id);
	TAKE(fanout_type, fanout, type);
}

static void take_xdp(struct xdp_sock *socket, struct record *record)
{
	TAKE(interface, socket, dev, ifindex);
	BPF_CORE_READ_STR_INTO(&record->name, socket, dev, name);
	TAKE(dropped, socket, rx_dropped);
	TAKE(full, socket, rx_queue_full);
	TAKE(starved, socket, pool, fq, queue_empty_descs);
	TAKE(queue, socket, queue_id);
	TAKE(zero_copy, socket, zc);
	TAKE(frames, socket, rx, nentries);
	TAKE(frame_octets, socket, umem, chunk_size);
	TAKE(blocks, socket, umem, chunks);
}
