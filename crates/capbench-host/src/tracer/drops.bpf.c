// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Counts what the kernel drops and what XDP fails at on the interfaces that are watched, on each CPU for itself.
// Of the kernel's structures there are only the members read here; libbpf finds out where they are (CO-RE).
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define KERNEL __attribute__((preserve_access_index))
#define MOST_REASONS 256 /* those of subsystems are larger */
#define MOST_WATCHED 4

struct ns_common { unsigned int inum; } KERNEL;
struct net { struct ns_common ns; } KERNEL;
typedef struct { struct net *net; } KERNEL possible_net_t;
struct net_device { int ifindex; possible_net_t nd_net; } KERNEL;
struct sk_buff { struct net_device *dev; } KERNEL;

/* Set before loading: whether drops have reasons (Linux 5.17), and which one says nothing. */
const volatile struct { __u32 reasoned, unspecified; } kernel = {};
/* Set while attached; interface 0 is none. */
volatile struct { __u32 interface, namespace; } watched[MOST_WATCHED];

struct counts { __u64 reasons[MOST_REASONS], exceptions, redirects, beyond; };
struct place { __u64 address; __u32 reason, watched; };

#define MAP(name, kind, entries, key_type, value_type) struct { __uint(type, kind); \
	__uint(max_entries, entries); __type(key, key_type); __type(value, value_type); } name SEC(".maps")
MAP(counts, BPF_MAP_TYPE_PERCPU_ARRAY, MOST_WATCHED, __u32, struct counts);
MAP(places, BPF_MAP_TYPE_PERCPU_HASH, 1024, struct place, __u64); /* if the reason is not enough */

static __always_inline struct counts *counts_of(struct net_device *device, __u32 *which)
{
	__u32 interface = device ? device->ifindex : 0;
	for (*which = 0; interface && *which < MOST_WATCHED; ++*which)
		if (watched[*which].interface == interface &&
		    watched[*which].namespace == device->nd_net.net->ns.inum)
			return bpf_map_lookup_elem(&counts, which);
	return 0;
}

SEC("tp_btf/kfree_skb") int kfree_skb(__u64 *arguments)
{
	struct place place = { arguments[1], kernel.reasoned ? arguments[2] : 0, 0 };
	struct counts *mine = counts_of(((struct sk_buff *)arguments[0])->dev, &place.watched);
	__u64 none = 0, *there;
	if (!mine)
		return 0;
	if (kernel.reasoned && place.reason != kernel.unspecified && place.reason < MOST_REASONS) {
		mine->reasons[place.reason]++;
		return 0;
	}
	bpf_map_update_elem(&places, &place, &none, BPF_NOEXIST); /* refused where it is there */
	there = bpf_map_lookup_elem(&places, &place);
	++*(there ? there : &mine->beyond);
	return 0;
}

static __always_inline int failed(__u64 *arguments, int is_redirect)
{
	__u32 which;
	struct counts *mine = counts_of((struct net_device *)arguments[0], &which);
	if (mine)
		++*(is_redirect ? &mine->redirects : &mine->exceptions);
	return 0;
}
SEC("tp_btf/xdp_exception") int xdp_exception(__u64 *arguments) { return failed(arguments, 0); }
SEC("tp_btf/xdp_redirect_err") int xdp_redirect_err(__u64 *arguments) { return failed(arguments, 1); }
SEC("tp_btf/xdp_redirect_map_err") int xdp_redirect_map_err(__u64 *arguments) { return failed(arguments, 1); }

char licence[] SEC("license") = "Dual MIT/GPL";
