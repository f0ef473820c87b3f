// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Drops every n-th frame of a trial by its sequence number, or takes its time over each: faults for tests.
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

/* The low 32 bits of the stamp's 40-bit number, in UDP over IPv4 without a tag. */
#define SEQUENCE 46
/* Looks at the clock at most: some 100 us. */
#define LOOKS 4096

const volatile struct {
	__u32 drop_every;
	__u32 take_ns;
} fault = {};

SEC("xdp") int faulty(struct xdp_md *context)
{
	char *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	__u64 start = bpf_ktime_get_ns();

	for (int i = 0; fault.take_ns && i < LOOKS; i++)
		if (bpf_ktime_get_ns() - start >= fault.take_ns)
			break;
	if (data + SEQUENCE + 4 > end || !fault.drop_every)
		return XDP_PASS;
	return bpf_ntohl(*(__be32 *)(data + SEQUENCE)) % fault.drop_every ? XDP_PASS : XDP_DROP;
}

char licence[] SEC("license") = "Dual MIT/GPL";
