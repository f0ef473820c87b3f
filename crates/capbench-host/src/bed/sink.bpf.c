// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Ends the frames of a bed behind the packet sockets of all protocols, where no other part of the kernel needs them. To tc a
// stolen frame is consumed. Without this the stack would drop each of them as OTHERHOST, and drops.bpf.c would run for it.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

/* Otherwise frames go on to the stack. */
volatile __u32 is_active;

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} ended SEC(".maps");

SEC("tc") int sink(struct __sk_buff *frame)
{
	__u32 zero = 0;
	__u64 *mine = is_active ? bpf_map_lookup_elem(&ended, &zero) : 0;

	if (!mine)
		return TC_ACT_UNSPEC;
	++*mine;
	return TC_ACT_STOLEN;
}

char licence[] SEC("license") = "Dual MIT/GPL";
