// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Does nothing, where drops.bpf.c does its work. Its run time is what measuring a run takes by itself. What frames take longer
// while all of these are attached is the way from a tracepoint to its programs.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define NOTHING(name) SEC("tp_btf/kfree_skb") int name(__u64 *arguments) { return 0; }
NOTHING(nothing_0) NOTHING(nothing_1) NOTHING(nothing_2) NOTHING(nothing_3)
NOTHING(nothing_4) NOTHING(nothing_5) NOTHING(nothing_6) NOTHING(nothing_7)

char licence[] SEC("license") = "Dual MIT/GPL";
