// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Makes each live frame (BPF_F_TEST_XDP_LIVE_FRAMES) a copy of the next slot and sends it: the method `xdp-live`.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define THREADS 256
#define LOOPBACK 1 /* live frames seem to arrive there; LOOPBACK_IFINDEX is the same in every namespace */

/* Set before the program is loaded. */
const volatile struct {
	__u32 interface; /* to send on */
	__u32 slots;     /* of each thread, a power of two */
	__u32 largest;   /* octets of a live frame of thread 0 before it gets its length; one more for each next thread */
} config = {};

/* Frames made so far. Each thread that runs the program changes its own count, on a cache line of its own. */
volatile struct {
	__u64 made;
	__u64 apart[7];
} threads[THREADS] = {};

/* Each value is a slot: the length, 64 bits, and the octets. Threads have equal parts, one after the other. Its size and their number are set before it is loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__uint(key_size, 4);
	__uint(value_size, 4096);
} slots SEC(".maps");

SEC("xdp") int live(struct xdp_md *context)
{
	/* The program is attached to the sending interface, too: what comes in there is not for it. */
	if (context->ingress_ifindex != LOOPBACK)
		return XDP_PASS;
	__u32 octets = bpf_xdp_get_buff_len(context);
	__u32 thread = octets - config.largest;
	if (thread >= THREADS)
		return XDP_ABORTED;
	__u64 number = threads[thread].made;
	__u32 index = thread * config.slots + (number & (config.slots - 1));
	__u64 *slot = bpf_map_lookup_elem(&slots, &index);

	threads[thread].made = number + 1;
	if (!slot)
		return XDP_ABORTED;
	__u64 length = *slot;
	if (length < 14 || length > config.largest)
		return XDP_ABORTED;
	if (length != octets && bpf_xdp_adjust_tail(context, (int)length - (int)octets))
		return XDP_ABORTED;
	if (bpf_xdp_store_bytes(context, 0, slot + 1, length))
		return XDP_ABORTED;
	return bpf_redirect(config.interface, 0);
}

char licence[] SEC("license") = "Dual MIT/GPL";
