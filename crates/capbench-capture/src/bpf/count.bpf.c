// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Counts frames where they arrive, on each CPU for itself: the method `xdp-count`. Frames of a trial are distinguished from
// others by octets that are the same in all of them, and counted once each by their sequence numbers.
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define MOST_WORDS 11 /* 88 octets: more than tag, IPv6 and TCP */

/* Set before the program is loaded, so that the verifier knows it and drops what is not needed. */
const volatile struct {
	__u64 mask[MOST_WORDS], value[MOST_WORDS];
	__u32 at[MOST_WORDS]; /* offset of each word in a frame */
	__u32 words;          /* how many there are; none: no frame is marked */
	__u32 least;          /* octets of the shortest marked frame */
	__u32 stamp_at;       /* trial 16 bits, stream 8, sequence number 40, big-endian */
	__u32 trial;
	__u32 verdict;        /* on marked frames; all others go on to the stack */
} mark = {};

struct counts {
	__u64 marked, duplicates, beyond, other, marked_octets, other_octets;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counts);
} counts SEC(".maps");

/* One bit for each sequence number of stream 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} seen SEC(".maps");

SEC("xdp") int count(struct xdp_md *context)
{
	void *data = (void *)(long)context->data, *end = (void *)(long)context->data_end;
	__u32 zero = 0;
	__u64 length = end - data, differing = 0;
	struct counts *mine = bpf_map_lookup_elem(&counts, &zero);

	if (!mine)
		return XDP_ABORTED;
	if (!mark.words || data + mark.least > end)
		goto other;
	for (__u32 i = 0; i < MOST_WORDS && i < mark.words; i++)
		differing |= (*(__u64 *)(data + mark.at[i]) ^ mark.value[i]) & mark.mask[i];
	__u64 stamp = bpf_be64_to_cpu(*(__u64 *)(data + mark.stamp_at));
	if (differing || stamp >> 48 != mark.trial)
		goto other;
	mine->marked++;
	mine->marked_octets += length;
	/* The stream is the upper part of the number, so that of others than stream 0 is beyond the record, too. */
	__u64 number = stamp << 16 >> 16, bit = 1ULL << (number & 63);
	__u32 index = number >> 6;
	__u64 *word = number >> 38 ? 0 : bpf_map_lookup_elem(&seen, &index);
	if (!word)
		mine->beyond++;
	else if (__sync_fetch_and_or(word, bit) & bit)
		mine->duplicates++;
	return mark.verdict;
other:
	mine->other++;
	mine->other_octets += length;
	return XDP_PASS;
}

char licence[] SEC("license") = "Dual MIT/GPL";
