// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Does nothing, where drops.bpf.c does its work: its run time is what measuring a run takes by itself.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("tp_btf/kfree_skb") int nothing(__u64 *arguments) { return 0; }

char licence[] SEC("license") = "Dual MIT/GPL";
