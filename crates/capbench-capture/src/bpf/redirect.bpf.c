// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Passes each frame to the AF_XDP socket of its receive queue: the method `af-xdp`. Frames of queues without a socket go on
// to the stack. Both are counted by queue, on each CPU, since the kernel counts neither.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1); /* as many as there are queues; set before the program is loaded */
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct counts {
	__u64 redirected, passed;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1); /* the same */
	__type(key, __u32);
	__type(value, struct counts);
} counts SEC(".maps");

SEC("xdp") int redirect(struct xdp_md *context)
{
	__u32 queue = context->rx_queue_index, first = 0;
	struct counts *mine = bpf_map_lookup_elem(&counts, &queue);
	/* What the flags say is the verdict where the map has no socket (Linux 5.3). */
	int verdict = bpf_redirect_map(&sockets, queue, XDP_PASS);

	/* A queue that the interface got later has no socket. */
	if (!mine)
		mine = bpf_map_lookup_elem(&counts, &first);
	if (!mine)
		return XDP_ABORTED;
	if (verdict == XDP_REDIRECT)
		mine->redirected++;
	else
		mine->passed++;
	return verdict;
}

char licence[] SEC("license") = "Dual MIT/GPL";
