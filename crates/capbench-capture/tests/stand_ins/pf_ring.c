/* Stands in for libpfring: the calls of pfring.h that capbench makes. With a buffer a packet is copied, as far as the
 * buffer goes; without, it is valid until the next call and overwritten then. A prefix of the device up to the first
 * colon names the module. Keys: frames, open_errno, version, mode, direction, watermark, enable, late, poll, poll_errno,
 * fail_at, fail, fail_once, cut_at (captured less), long_at (longer than the buffer), huge_at (claims more than captured), sent_at,
 * null_at, no_stats, drop, burst, over. */

#include <poll.h>
#include <sys/time.h>

#include "stand_in.h"

/* linux/pf_ring.h of release 8: packed, longer than what is read of it. */
struct header {
	struct timeval ts;
	uint32_t captured, length;
	uint64_t time_ns;
	uint32_t flags;
	uint8_t is_received, port;
	uint16_t device;
	int32_t interface;
	uint32_t hash;
	unsigned char rest[150];
} __attribute__((packed));

struct info { unsigned char *data; struct timeval ts; uint16_t captured, length; uint32_t flags, hash; };
typedef struct { int is_open, is_enabled, is_ready, has_failed; unsigned captured, next, read; } pfring;

static pfring ring;
static unsigned char slots[64][2048];

static void check(pfring *given, const char *call, int enabled)
{
	if (given != &ring || !ring.is_open)
		note("FAULT %s: not open", call);
	if (enabled && !ring.is_enabled)
		note("FAULT %s: not enabled", call);
}

void pfring_version_noring(uint32_t *version)
{
#ifdef VERSION
	*version = VERSION;
#else
	*version = 0x080800;
#endif
}

pfring *pfring_open(const char *device, uint32_t captured, uint32_t flags)
{
	const char *colon = strchr(device, ':');
	if (!attach(colon ? colon + 1 : device) || key("open_errno", 0)) {
		errno = (int)key("open_errno", ENODEV);
		return NULL;
	}
	note("open %u %x", captured, flags);
	ring = (pfring){ .is_open = 1, .captured = captured, .is_ready = !key("late", 0) };
	return &ring;
}

void pfring_close(pfring *given)
{
	check(given, "close", 0);
	note("close");
	memset(slots, POISON, sizeof(slots));
	ring.is_open = 0;
}

int pfring_set_socket_mode(pfring *given, int mode)
{
	check(given, "set_socket_mode", 0);
	note("mode %d", mode);
	return (int)key("mode", 0);
}

int pfring_set_direction(pfring *given, int direction)
{
	check(given, "set_direction", 0);
	if (ring.is_enabled)
		note("FAULT set_direction: enabled already");
	note("direction %d", direction);
	return (int)key("direction", 0);
}

int pfring_set_poll_watermark(pfring *given, uint16_t watermark)
{
	check(given, "set_poll_watermark", 0);
	note("watermark %u", watermark);
	return (int)key("watermark", 0);
}

#ifndef WITHOUT_ENABLE
int pfring_enable_ring(pfring *given)
{
	check(given, "enable_ring", 0);
	note("enable");
	ring.is_enabled = 1;
	return (int)key("enable", 0);
}
#endif

int pfring_poll(pfring *given, unsigned timeout)
{
	check(given, "poll", 1);
	ring.is_ready = 1;
	if (key("poll", 0)) {
		errno = (int)key("poll_errno", 0);
		return (int)key("poll", 0);
	}
	return timeout > 0 && (long)ring.next < key("frames", 0);
}

/* Overwrites what was given before and makes the next packet; 0 or an error where there is none. */
static int next_packet(unsigned slot)
{
	if (ring.is_ready && (long)ring.next == key("fail_at", -1) && !(key("fail_once", 0) && ring.has_failed)) {
		ring.has_failed = 1;
		return (int)key("fail", -1);
	}
	if (!ring.is_ready || (long)ring.next >= key("frames", 0))
		return 0;
	fill_frame(slots[slot], ring.next);
	ring.next++;
	return 1;
}

int pfring_recv(pfring *given, unsigned char **buffer, unsigned room, struct header *header, uint8_t wait)
{
	unsigned number = ring.next, length = frame_length(number), captured = length;
	int code;
	check(given, "recv", 1);
	if (wait)
		note("FAULT recv: it would wait for ever");
	memset(slots, POISON, sizeof(slots));
	code = next_packet(0);
	if (code <= 0)
		return code;
	if ((long)number == key("cut_at", -1))
		captured = 20;
	if ((long)number == key("long_at", -1))
		length = captured = 9000;
	memset(header, 0, sizeof(*header));
	header->ts.tv_sec = 3;
	header->ts.tv_usec = number;
	header->time_ns = number % 2 ? 5000000000u + number : 0;
	header->is_received = (long)number != key("sent_at", -1);
	header->captured = captured;
	header->length = length;
	memset(header->rest, POISON, sizeof(header->rest));
	if (room > 0) {
		if (room != ring.captured)
			note("FAULT recv: a buffer of %u octets", room);
		memcpy(*buffer, slots[0], captured < room ? captured : room);
	} else {
		*buffer = (long)number == key("null_at", -1) ? NULL : slots[0];
	}
	if ((long)number == key("huge_at", -1))
		header->captured = 1000000;
	ring.read++;
	return 1;
}

int pfring_recv_burst(pfring *given, struct info *infos, uint8_t count, uint8_t wait)
{
	unsigned got = 0;
	check(given, "recv_burst", 1);
	if (wait)
		note("FAULT recv_burst: it would wait for ever");
	if (!key("burst", 0))
		return -7;
	memset(slots, POISON, sizeof(slots));
	for (unsigned i = 0; i < count; i++)
		infos[i] = (struct info){ .data = slots[63], .captured = 60, .length = 60 };
	while (got < count && (long)got < key("burst", 0)) {
		unsigned number = ring.next;
		int code = next_packet(got);
		if (code < 0 && got == 0)
			return code;
		if (code <= 0)
			break;
		infos[got] = (struct info){ .data = slots[got], .ts = { 3, number }, .length = (uint16_t)frame_length(number) };
		infos[got].captured = (long)number == key("cut_at", -1) ? 20 : infos[got].length;
		if ((long)number == key("null_at", -1))
			infos[got].data = NULL;
		ring.read++;
		got++;
	}
	if (got)
		note("burst of %u", got);
	return got && key("over", 0) ? count + 1 : (int)got;
}

int pfring_stats(pfring *given, uint64_t *counts)
{
	check(given, "stats", 1);
	counts[0] = ring.read;
	counts[1] = (uint64_t)key("drop", 0);
	counts[2] = 0;
	return (int)key("no_stats", 0);
}

uint32_t pfring_get_num_queued_pkts(pfring *given)
{
	check(given, "get_num_queued_pkts", 1);
	return (uint32_t)(key("frames", 0) - ring.next);
}
