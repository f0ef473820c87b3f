/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The members that are read of the kernel's structures; libbpf finds out where the running kernel has them (CO-RE).
 * net/packet/internal.h, include/net/xdp_sock.h, net/xdp/xsk_queue.h, include/linux/pid.h. */
#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define KERNEL __attribute__((preserve_access_index))

struct inode { unsigned long i_ino; } KERNEL;
struct file { struct inode *f_inode; } KERNEL;
struct upid { int nr; } KERNEL;
struct pid { unsigned int level; struct upid numbers[1]; } KERNEL;
struct task_struct { struct pid *thread_pid; struct task_struct *group_leader; } KERNEL;
struct ns_common { unsigned int inum; } KERNEL;
struct net { struct ns_common ns; } KERNEL;
typedef struct { struct net *net; } possible_net_t;
struct sock_common { unsigned short skc_family; possible_net_t skc_net; } KERNEL;
struct sock { struct sock_common __sk_common; int sk_rcvbuf; struct sk_filter *sk_filter; } KERNEL;
struct socket { struct sock *sk; } KERNEL;
struct net_device { int ifindex; char name[16]; } KERNEL;
typedef struct { int counter; } atomic_t;
struct packet_ring_buffer { struct pgv *pg_vec; unsigned int frame_size, frame_max, pg_vec_pages, pg_vec_len; } KERNEL;
struct tpacket_stats_v3 { unsigned int tp_packets, tp_drops, tp_freeze_q_cnt; } KERNEL;
union tpacket_stats_u { struct tpacket_stats_v3 stats3; } KERNEL;
struct packet_fanout { unsigned int num_members; __u16 id; __u8 type; } KERNEL;
struct packet_type { struct net_device *dev; _Bool ignore_outgoing; } KERNEL;
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
