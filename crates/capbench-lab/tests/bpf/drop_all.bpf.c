// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Drops every frame: a fault for tests.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp") int drop_all(struct xdp_md *context)
{
	return XDP_DROP;
}

char licence[] SEC("license") = "Dual MIT/GPL";
