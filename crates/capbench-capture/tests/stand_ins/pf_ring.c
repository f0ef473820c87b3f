/* Replaces libpfring in tests: the calls of pfring.h that capbench makes. With a buffer a packet is copied, as far as the
 * buffer goes; without, it is valid until the next call and overwritten then. A prefix of the device up to the first
 * colon names the module. As the kernel module does, it makes slots as long as their packet, up to the octets asked for,
 * and lists the ring in DEVICE.rings/PID-lo.NUMBER. Keys: frames, open_errno, version, mode, direction, watermark, enable, late, poll, poll_errno,
 * fail_at, fail, fail_once, cut_at (captured less), big_at (a packet of big octets), long_at (longer than the buffer),
 * huge_at (claims more than captured), sent_at, null_at, no_stats, drop, burst, over, least (the most octets that this
 * release captures), number (of the ring). */

#include <poll.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

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
static unsigned char slots[64][65600];
static char listing[1200];

/* What /proc/net/pf_ring has of the ring: ring_proc_get_info and ring_alloc_mem of pf_ring.c. */
static void list(void)
{
	unsigned slot = (48 + ring.captured + 2 + 7) / 8 * 8, usual = (48 + 1600 + 2 + 7) / 8 * 8, count = 4096;
	unsigned long long memory;
	FILE *file = fopen(listing, "w");
	if (file == NULL)
		return;
	if (ring.captured > 1600)
		count = 4096ull * usual / slot < 512 ? 512 : 4096ull * usual / slot;
	memory = (8256 + (unsigned long long)count * slot + 4095) / 4096 * 4096;
	fprintf(file, "Bound Device(s)        : lo\nActive                 : %d\nBreed                  : Standard\n"
		"Socket Mode            : RX only\nCapture Direction      : RX only\nMin Num Slots          : %llu\n"
		"Bucket Len             : %u\nTot Memory             : %llu\nTot Packets            : %ld\n"
		"Tot Pkt Lost           : %ld\nTot Insert             : %ld\nTot Read               : %u\n",
		ring.is_enabled, (memory - 8256) / slot, ring.captured, memory, key("frames", 0) + key("drop", 0),
		key("drop", 0), key("frames", 0), ring.read);
	fclose(file);
}

static unsigned length_of(unsigned number)
{
	return (long)number == key("big_at", -1) ? (unsigned)key("big", 0) : frame_length(number);
}

static void check(pfring *handle, const char *call, int enabled)
{
	if (handle != &ring || !ring.is_open)
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
	if (captured > key("least", 65600))
		captured = (unsigned)key("least", 65600);
	ring = (pfring){ .is_open = 1, .captured = captured, .is_ready = !key("late", 0) };
	snprintf(listing, sizeof(listing), "%s.rings", colon ? colon + 1 : device);
	mkdir(listing, 0700);
	snprintf(listing, sizeof(listing), "%s.rings/%d-lo.%ld", colon ? colon + 1 : device, getpid(), key("number", 7));
	list();
	return &ring;
}

void pfring_close(pfring *handle)
{
	check(handle, "close", 0);
	note("close");
	unlink(listing);
	memset(slots, POISON, sizeof(slots));
	ring.is_open = 0;
}

int pfring_set_socket_mode(pfring *handle, int mode)
{
	check(handle, "set_socket_mode", 0);
	note("mode %d", mode);
	return (int)key("mode", 0);
}

int pfring_set_direction(pfring *handle, int direction)
{
	check(handle, "set_direction", 0);
	if (ring.is_enabled)
		note("FAULT set_direction: enabled already");
	note("direction %d", direction);
	return (int)key("direction", 0);
}

int pfring_set_cluster(pfring *handle, unsigned number, int type)
{
	check(handle, "set_cluster", 0);
	if (ring.is_enabled)
		note("FAULT set_cluster: enabled already");
	/* The number has the process's in it. */
	note("cluster %d type %d", (number & 0x3fffff) == (unsigned)getpid() && number >= 1u << 30, type);
	return (int)key("cluster", 0);
}

int pfring_set_poll_watermark(pfring *handle, uint16_t watermark)
{
	check(handle, "set_poll_watermark", 0);
	note("watermark %u", watermark);
	return (int)key("watermark", 0);
}

#ifndef WITHOUT_ENABLE
int pfring_enable_ring(pfring *handle)
{
	check(handle, "enable_ring", 0);
	note("enable");
	ring.is_enabled = 1;
	return (int)key("enable", 0);
}
#endif

int pfring_poll(pfring *handle, unsigned timeout)
{
	check(handle, "poll", 1);
	ring.is_ready = 1;
	if (key("poll", 0)) {
		errno = (int)key("poll_errno", 0);
		return (int)key("poll", 0);
	}
	return timeout > 0 && (long)ring.next < key("frames", 0);
}

/* Overwrites the packet before and makes the next one; 0 or an error if there is none. */
static int next_packet(unsigned slot)
{
	if (ring.is_ready && (long)ring.next == key("fail_at", -1) && !(key("fail_once", 0) && ring.has_failed)) {
		ring.has_failed = 1;
		return (int)key("fail", -1);
	}
	if (!ring.is_ready || (long)ring.next >= key("frames", 0))
		return 0;
	fill_frame(slots[slot], ring.next);
	for (unsigned i = frame_length(ring.next); i < length_of(ring.next) && i < sizeof(slots[slot]); i++)
		slots[slot][i] = (unsigned char)(ring.next * 7 + i);
	ring.next++;
	return 1;
}

int pfring_recv(pfring *handle, unsigned char **buffer, unsigned room, struct header *header, uint8_t wait)
{
	unsigned number = ring.next, length = length_of(number), captured = length < ring.captured ? length : ring.captured;
	int code;
	check(handle, "recv", 1);
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

int pfring_recv_burst(pfring *handle, struct info *infos, uint8_t count, uint8_t wait)
{
	unsigned got = 0;
	check(handle, "recv_burst", 1);
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
		infos[got] = (struct info){ .data = slots[got], .ts = { 3, number }, .length = (uint16_t)length_of(number) };
		infos[got].captured = (long)number == key("cut_at", -1)  ? 20
				      : infos[got].length < ring.captured ? infos[got].length
									  : ring.captured;
		if ((long)number == key("null_at", -1))
			infos[got].data = NULL;
		ring.read++;
		got++;
	}
	if (got)
		note("burst of %u", got);
	return got && key("over", 0) ? count + 1 : (int)got;
}

int pfring_stats(pfring *handle, uint64_t *counts)
{
	check(handle, "stats", 1);
	counts[0] = ring.read;
	counts[1] = (uint64_t)key("drop", 0);
	counts[2] = 0;
	list();
	return (int)key("no_stats", 0);
}

uint32_t pfring_get_num_queued_pkts(pfring *handle)
{
	check(handle, "get_num_queued_pkts", 1);
	return (uint32_t)(key("frames", 0) - ring.next);
}

int pfring_get_caplen(pfring *handle)
{
	check(handle, "get_caplen", 0);
	return (int)ring.captured;
}

uint32_t pfring_get_ring_id(pfring *handle)
{
	check(handle, "get_ring_id", 0);
	return (uint32_t)key("number", 7);
}
