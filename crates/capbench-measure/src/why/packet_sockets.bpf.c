// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Goes over the open files of all processes and tells of each AF_PACKET and AF_XDP socket what it has counted. It only
// reads: PACKET_STATISTICS would set the counters of a socket that belongs to somebody else to 0.
// The structures below are the fields that are read of the kernel's; libbpf finds where they are on the running one.
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define KERNEL __attribute__((preserve_access_index))
#define FAMILY_PACKET 17
#define FAMILY_XDP 44

struct inode { unsigned long i_ino; } KERNEL;
struct file { struct inode *f_inode; } KERNEL;
struct task_struct { int tgid; } KERNEL;
struct ns_common { unsigned int inum; } KERNEL;
struct net { struct ns_common ns; } KERNEL;
typedef struct { struct net *net; } possible_net_t;
struct sock_common { unsigned short skc_family; possible_net_t skc_net; } KERNEL;
struct sock { struct sock_common __sk_common; int sk_rcvbuf; struct sk_filter *sk_filter; } KERNEL;
struct socket { struct sock *sk; } KERNEL;
struct net_device { int ifindex; } KERNEL;
typedef struct { int counter; } atomic_t;
struct packet_ring_buffer { struct pgv *pg_vec; unsigned int frame_size, frame_max, pg_vec_pages, pg_vec_len; } KERNEL;
struct tpacket_stats_v3 { unsigned int tp_packets, tp_drops, tp_freeze_q_cnt; } KERNEL;
union tpacket_stats_u { struct tpacket_stats_v3 stats3; } KERNEL;
struct packet_fanout { unsigned int num_members; __u16 id; __u8 type; } KERNEL;
struct packet_type { _Bool ignore_outgoing; } KERNEL;
enum tpacket_versions { FIRST_VERSION };
struct packet_sock {
	struct packet_fanout *fanout;
	union tpacket_stats_u stats;
	struct packet_ring_buffer rx_ring;
	int ifindex;
	__be16 num;
	enum tpacket_versions tp_version;
	unsigned int tp_reserve;
	struct packet_type prot_hook;
	atomic_t tp_drops;
} KERNEL;
struct xsk_queue { __u32 nentries; __u64 queue_empty_descs; } KERNEL;
struct xsk_buff_pool { struct xsk_queue *fq; } KERNEL;
struct xdp_umem { __u32 chunk_size, chunks; } KERNEL;
struct xdp_sock {
	struct xsk_queue *rx;
	struct net_device *dev;
	struct xdp_umem *umem;
	struct xsk_buff_pool *pool;
	__u16 queue_id;
	_Bool zc;
	__u64 rx_dropped, rx_queue_full;
} KERNEL;
struct bpf_iter_meta { struct seq_file *seq; } KERNEL;
struct bpf_iter__task_file { struct bpf_iter_meta *meta; struct task_struct *task; struct file *file; } KERNEL;

/* What user space reads; records.rs has the same. */
struct record {
	__u64 inode, packets, dropped, full, starved;
	__u32 process, space, interface, family, readable, protocol, version, receive_buffer, filtered, ignores_outgoing,
		blocks, block_pages, frames, frame_octets, reserve, freezes, fanout_members, fanout_id, fanout_type,
		has_ring, queue, zero_copy;
};

static void read_packet(struct packet_sock *socket, struct record *record)
{
	struct packet_ring_buffer *ring = &socket->rx_ring;
	struct packet_fanout *fanout = BPF_CORE_READ(socket, fanout);

	record->interface = BPF_CORE_READ(socket, ifindex);
	record->protocol = bpf_ntohs(BPF_CORE_READ(socket, num));
	record->version = BPF_CORE_READ(socket, tp_version);
	record->packets = BPF_CORE_READ(socket, stats.stats3.tp_packets);
	record->dropped = (__u32)BPF_CORE_READ(socket, tp_drops.counter);
	record->freezes = BPF_CORE_READ(socket, stats.stats3.tp_freeze_q_cnt);
	record->ignores_outgoing = BPF_CORE_READ(socket, prot_hook.ignore_outgoing);
	record->has_ring = BPF_CORE_READ(ring, pg_vec) != 0;
	record->blocks = BPF_CORE_READ(ring, pg_vec_len);
	record->block_pages = BPF_CORE_READ(ring, pg_vec_pages);
	record->frames = BPF_CORE_READ(ring, frame_max) + 1;
	record->frame_octets = BPF_CORE_READ(ring, frame_size);
	record->reserve = BPF_CORE_READ(socket, tp_reserve);
	if (fanout) {
		record->fanout_members = BPF_CORE_READ(fanout, num_members);
		record->fanout_id = BPF_CORE_READ(fanout, id);
		record->fanout_type = BPF_CORE_READ(fanout, type);
	}
}

static void read_xdp(struct xdp_sock *socket, struct record *record)
{
	record->interface = BPF_CORE_READ(socket, dev, ifindex);
	record->dropped = BPF_CORE_READ(socket, rx_dropped);
	record->full = BPF_CORE_READ(socket, rx_queue_full);
	record->starved = BPF_CORE_READ(socket, pool, fq, queue_empty_descs);
	record->queue = BPF_CORE_READ(socket, queue_id);
	record->zero_copy = BPF_CORE_READ(socket, zc);
	record->frames = BPF_CORE_READ(socket, rx, nentries);
	record->frame_octets = BPF_CORE_READ(socket, umem, chunk_size);
	record->blocks = BPF_CORE_READ(socket, umem, chunks);
}

SEC("iter/task_file") int packet_sockets(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct record record = {};
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = BPF_CORE_READ(socket, sk);
	record.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (record.family != FAMILY_PACKET && record.family != FAMILY_XDP)
		return 0;
	record.inode = BPF_CORE_READ(file, f_inode, i_ino);
	record.process = task->tgid;
	record.space = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	record.receive_buffer = BPF_CORE_READ(sk, sk_rcvbuf);
	record.filtered = BPF_CORE_READ(sk, sk_filter) != 0;
	/* Modules may come without a description of their structures. */
	if (record.family == FAMILY_PACKET && bpf_core_type_exists(struct packet_sock)) {
		record.readable = 1;
		read_packet((struct packet_sock *)sk, &record);
	}
	if (record.family == FAMILY_XDP && bpf_core_type_exists(struct xdp_sock)) {
		record.readable = 1;
		read_xdp((struct xdp_sock *)sk, &record);
	}
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
