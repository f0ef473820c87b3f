// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Passes a frame on to the stack: the setting `+pass` of the method `af-xdp` runs it on frames that were captured.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp") int pass(struct xdp_md *context)
{
	/* A header without content is the question whether the kernel can do it at all. */
	return context->data_end - context->data > 14 ? XDP_PASS : XDP_DROP;
}

char licence[] SEC("license") = "Dual MIT/GPL";
