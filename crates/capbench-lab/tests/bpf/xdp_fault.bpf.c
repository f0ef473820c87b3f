// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Does with every frame what the kernel cannot obey: faults for tests.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

/* Set before loading: which fault, and the interface that it redirects to. */
const volatile struct { __u32 fault, interface; } chosen = {};

struct { __uint(type, BPF_MAP_TYPE_XSKMAP); __uint(max_entries, 1); __type(key, __u32); __type(value, __u32);
} sockets SEC(".maps");
struct { __uint(type, BPF_MAP_TYPE_DEVMAP); __uint(max_entries, 1); __type(key, __u32); __type(value, __u32);
} devices SEC(".maps");

SEC("xdp") int xdp_fault(struct xdp_md *context)
{
	switch (chosen.fault) {
	case 0: return XDP_ABORTED;
	case 1: return 99; /* no verdict */
	case 2: return bpf_redirect(chosen.interface, 0);
	case 3: return bpf_redirect_map(&sockets, 0, 0); /* no socket in it */
	case 4: return bpf_redirect_map(&devices, 0, 0);
	}
	return XDP_PASS;
}

char licence[] SEC("license") = "Dual MIT/GPL";
