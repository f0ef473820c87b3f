// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Classifiers for tc that do something to every n-th frame of a trial, by its sequence number: faults for tests.
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETHERTYPE 12
#define PROTOCOL 23
#define DESTINATION_PORT 36
/* The low 32 bits of the stamp's 40-bit number, in UDP over IPv4 without a tag. */
#define SEQUENCE 46
#define PAYLOAD_AFTER_STAMP 56
/* Put on a copy, so that it is let through. */
#define COPY 1

static __always_inline int load(struct __sk_buff *skb, int at, void *to, int octets)
{
	return bpf_skb_load_bytes(skb, at, to, octets);
}

static __always_inline int is_hit(struct __sk_buff *skb, __u32 every)
{
	__u16 ethertype, port;
	__u8 protocol;
	__u32 sequence;

	if (load(skb, ETHERTYPE, &ethertype, 2) || load(skb, PROTOCOL, &protocol, 1) ||
	    load(skb, DESTINATION_PORT, &port, 2) || load(skb, SEQUENCE, &sequence, 4))
		return 0;
	return ethertype == bpf_htons(0x0800) && protocol == 17 && port == bpf_htons(9) &&
	       bpf_ntohl(sequence) % every == 0;
}

static __always_inline int corrupt(struct __sk_buff *skb)
{
	__u8 octet;

	if (load(skb, PAYLOAD_AFTER_STAMP, &octet, 1))
		return TC_ACT_OK;
	octet ^= 0x20;
	bpf_skb_store_bytes(skb, PAYLOAD_AFTER_STAMP, &octet, 1, 0);
	return TC_ACT_OK;
}

static __always_inline int duplicate(struct __sk_buff *skb)
{
	if (skb->mark == COPY)
		return TC_ACT_OK;
	skb->mark = COPY;
	bpf_clone_redirect(skb, skb->ifindex, 0);
	skb->mark = 0;
	return TC_ACT_OK;
}

#define FAULT(name, every, what) \
	SEC("tc/" #name "_" #every) int name##_##every(struct __sk_buff *skb) \
	{ \
		return is_hit(skb, every) ? what : TC_ACT_OK; \
	}

FAULT(drop, 2, TC_ACT_SHOT)
FAULT(drop, 10, TC_ACT_SHOT)
FAULT(drop, 100, TC_ACT_SHOT)
FAULT(corrupt, 2, corrupt(skb))
FAULT(corrupt, 10, corrupt(skb))
FAULT(corrupt, 100, corrupt(skb))
FAULT(duplicate, 2, duplicate(skb))
FAULT(duplicate, 10, duplicate(skb))
FAULT(duplicate, 100, duplicate(skb))

char licence[] SEC("license") = "Dual MIT/GPL";
