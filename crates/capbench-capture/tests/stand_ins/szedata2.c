/* Replaces libsze2 in tests: the calls of libsze2.h that capbench makes. A packet is valid until the next read or the close,
 * and is overwritten then. Keys: frames, late (nothing until polled), open_errno, subscribe, channels, start, poll,
 * poll_events, gone_after, short_at, short_to, huge_at. */

#include <poll.h>
#include <stdlib.h>

#include "stand_in.h"

struct szedata { int is_open, is_subscribed, is_started, is_ready; unsigned next, held, returned; };

int SZE2_RX_POLL_TIMEOUT = 50;
static struct szedata card;
static unsigned char area[4096];

static void check(struct szedata *sze, const char *call)
{
	if (sze != &card)
		note("FAULT %s: another handle", call);
	if (!card.is_open)
		note("FAULT %s: not open", call);
}

static void release(void)
{
	memset(area, POISON, sizeof(area));
	card.held = 0;
}

struct szedata *szedata_open(const char *node)
{
	if (!attach(node) || key("open_errno", 0)) {
		errno = (int)key("open_errno", ENOENT);
		return NULL;
	}
	note("open");
	SZE2_RX_POLL_TIMEOUT = 50;
	card = (struct szedata){ .is_open = 1, .is_ready = !key("late", 0) };
	return &card;
}

int szedata_subscribe3(struct szedata *sze, uint32_t *rx, uint32_t *tx)
{
	check(sze, "subscribe3");
	note("subscribe3 %x %x", *rx, *tx);
	*rx = (uint32_t)key("channels", 3);
	card.is_subscribed = 1;
	return (int)key("subscribe", 0);
}

int szedata_start(struct szedata *sze)
{
	check(sze, "start");
	if (!card.is_subscribed)
		note("FAULT start: not subscribed");
	note("start");
	card.is_started = 1;
	return (int)key("start", 0);
}

int szedata_poll(struct szedata *sze, short *events, int timeout)
{
	check(sze, "poll");
	if (card.held)
		note("FAULT poll: a packet is not released");
	if (key("poll", 0))
		return (int)key("poll", 0);
	if (key("gone_after", -1) >= 0 && card.next >= key("gone_after", -1))
		return -1;
	card.is_ready = 1;
	if (card.next >= key("frames", 0) || timeout == 0)
		return 0;
	*events = (short)key("poll_events", POLLIN);
	return 1;
}

unsigned char *szedata_read_next(struct szedata *sze, unsigned int *length)
{
	unsigned number = card.next, octets = frame_length(number);
	uint16_t segment = (uint16_t)(16 + octets), own = 8;
	check(sze, "read_next");
	if (!card.is_started)
		note("FAULT read_next: not started");
	if (SZE2_RX_POLL_TIMEOUT != 0)
		note("FAULT read_next: it would wait and end the process where that fails");
	release();
	if (!card.is_ready || number >= key("frames", 0))
		return NULL;
	if (key("gone_after", -1) >= 0 && number >= key("gone_after", -1))
		return NULL;
	card.next++;
	card.held = 1;
	if (number == key("huge_at", -1))
		own = 60000;
	/* Header, 8 octets of the card's own, up to the next multiple of 8: the frame is at octet 16. */
	memcpy(area, &segment, 2);
	memcpy(area + 2, &own, 2);
	fill_frame(area + 16, number);
	card.returned = number == key("short_at", -1) ? (unsigned)key("short_to", segment / 2u) : segment;
	*length = card.returned;
	return area;
}

unsigned int szedata_decode_packet(unsigned char *contents, unsigned char **data, unsigned char **own,
				   unsigned int *data_length, unsigned int *own_length)
{
	uint16_t segment, own_size;
	unsigned offset;
	if (contents != area || !card.held || card.returned < 4)
		note("FAULT decode_packet: no packet with a whole header");
	memcpy(&segment, contents, 2);
	memcpy(&own_size, contents + 2, 2);
	offset = (4u + own_size + 7u) & ~7u;
	*data = contents + offset;
	*own = contents + 4;
	*data_length = segment - offset;
	*own_length = own_size;
	return segment;
}

void szedata_close(struct szedata *sze)
{
	check(sze, "close");
	note("close");
	release();
	card.is_open = 0;
}
