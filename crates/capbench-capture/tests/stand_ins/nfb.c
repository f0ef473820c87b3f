/* Replaces libnfb in tests: the calls of nfb/nfb.h and nfb/ndp.h that capbench makes. What a burst gave is overwritten when
 * it is put. Keys: queues, unavailable, frames (per queue), most (per burst), open_errno, queue_errno, start, poll,
 * no_poll, over_at, null_at, counters (0 none, 1 NDP, 2 SZE), discarded, unreadable_after, gone_after, header. */

#include <stdlib.h>
#include <sys/types.h>

#include "stand_in.h"

#define QUEUES 4
#define ROOM 256
#define FRAMES 256

struct ndp_packet { unsigned char *data, *header; uint32_t data_length; uint16_t header_length, flags; };
struct ndp_queue { int is_open, is_started; unsigned number, next, held; unsigned char area[FRAMES][ROOM]; };
struct nfb_comp { int is_open; unsigned queue; uint64_t latched[2]; };
struct nfb_device { int is_open; unsigned bursts, reads; };

static struct nfb_device card;
static struct ndp_queue queues[QUEUES];
static struct nfb_comp comps[QUEUES];
static unsigned char stale[ROOM];

static void check_device(const struct nfb_device *dev, const char *call)
{
	if (dev != &card || !card.is_open)
		note("FAULT %s: the device is not open", call);
}

static void check_queue(struct ndp_queue *q, const char *call)
{
	if (q < queues || q >= queues + QUEUES || !q->is_open)
		note("FAULT %s: the queue is not open", call);
	if (!card.is_open)
		note("FAULT %s: the device is not open", call);
}

struct nfb_device *nfb_open(const char *path)
{
	if (!attach(path) || key("open_errno", 0)) {
		errno = (int)key("open_errno", ENOENT);
		return NULL;
	}
	note("open");
	card = (struct nfb_device){ .is_open = 1 };
	memset(queues, 0, sizeof(queues));
	memset(comps, 0, sizeof(comps));
	memset(stale, POISON, sizeof(stale));
	return &card;
}

void nfb_close(struct nfb_device *dev)
{
	check_device(dev, "nfb_close");
	for (int i = 0; i < QUEUES; i++)
		if (queues[i].is_open || comps[i].is_open)
			note("FAULT nfb_close: queue or component %d is open", i);
	note("close");
	card.is_open = 0;
}

int ndp_get_rx_queue_count(const struct nfb_device *dev)
{
	check_device(dev, "ndp_get_rx_queue_count");
	return (int)key("queues", 1);
}

int ndp_rx_queue_is_available(const struct nfb_device *dev, unsigned index)
{
	check_device(dev, "ndp_rx_queue_is_available");
	return (long)index != key("unavailable", -1);
}

struct ndp_queue *ndp_open_rx_queue(struct nfb_device *dev, unsigned index)
{
	check_device(dev, "ndp_open_rx_queue");
	if (key("queue_errno", 0) && (long)index == key("queue_errno_at", 0)) {
		errno = (int)key("queue_errno", 0);
		return NULL;
	}
	note("open queue %u", index);
	queues[index].is_open = 1;
	queues[index].number = index;
	return &queues[index];
}

int ndp_queue_start(struct ndp_queue *q)
{
	check_queue(q, "ndp_queue_start");
	note("start %u", q->number);
	if (key("start", 0))
		return (int)key("start", 0);
	q->is_started = 1;
	return 0;
}

int ndp_queue_stop(struct ndp_queue *q)
{
	check_queue(q, "ndp_queue_stop");
	if (!q->is_started)
		note("FAULT ndp_queue_stop: not started");
	if (q->held)
		note("FAULT ndp_queue_stop: a burst is out");
	note("stop %u", q->number);
	q->is_started = 0;
	return 0;
}

void ndp_close_rx_queue(struct ndp_queue *q)
{
	check_queue(q, "ndp_close_rx_queue");
	if (q->is_started)
		note("FAULT ndp_close_rx_queue: not stopped");
	note("close queue %u", q->number);
	q->is_open = 0;
}

unsigned ndp_rx_burst_get(struct ndp_queue *q, struct ndp_packet *packets, unsigned count)
{
	static unsigned char header[12] = { 0, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0 };
	unsigned got = 0, most = (unsigned)key("most", 8);
	check_queue(q, "ndp_rx_burst_get");
	if (!q->is_started)
		note("FAULT ndp_rx_burst_get: not started");
	if (q->held)
		note("FAULT ndp_rx_burst_get: a burst is out");
	/* Beyond the returned packets is anything. */
	for (unsigned i = 0; i < count; i++)
		packets[i] = (struct ndp_packet){ .data = stale, .data_length = ROOM };
	if (key("gone_after", -1) >= 0 && (long)q->next >= key("gone_after", -1))
		return 0;
	while (got < count && got < most && (long)q->next < key("frames", 0)) {
		unsigned char *place = q->area[q->next % FRAMES];
		fill_frame(place, q->next);
		packets[got] = (struct ndp_packet){ place, header, frame_length(q->next), (uint16_t)key("header", 12), 1 };
		if ((long)q->next == key("null_at", -1))
			packets[got].data = NULL;
		q->next++;
		got++;
	}
	q->held = got;
	if (got) {
		note("get %u from %u", got, q->number);
		card.bursts++;
	}
	return got && (long)card.bursts - 1 == key("over_at", -1) ? count + 1 : got;
}

void ndp_rx_burst_put(struct ndp_queue *q)
{
	check_queue(q, "ndp_rx_burst_put");
	if (!q->held)
		note("FAULT ndp_rx_burst_put: no burst is out");
	note("put %u to %u", q->held, q->number);
	for (unsigned i = 0; i < q->held; i++)
		memset(q->area[(q->next - 1 - i) % FRAMES], POISON, ROOM);
	q->held = 0;
}

#ifndef WITHOUT_POLL
int ndp_rx_poll(struct nfb_device *dev, int timeout, struct ndp_queue **q)
{
	check_device(dev, "ndp_rx_poll");
	for (int i = 0; i < QUEUES; i++)
		if (queues[i].held)
			note("FAULT ndp_rx_poll: a burst is out");
	*q = NULL;
	if (key("no_poll", 0))
		return -ENXIO;
	if (timeout > 0 && key("poll", 0))
		return (int)key("poll", 0);
	if (timeout > 0 && key("gone_after", -1) >= 0)
		return -1;
	return 0;
}
#endif

static const char *kind(void)
{
	switch (key("counters", 1)) {
	case 1: return "netcope,dma_ctrl_ndp_rx";
	case 2: return "netcope,dma_ctrl_sze_rx";
	default: return "";
	}
}

int nfb_comp_count(const struct nfb_device *dev, const char *compatible)
{
	check_device(dev, "nfb_comp_count");
	return strcmp(compatible, kind()) == 0 ? (int)key("queues", 1) : 0;
}

int nfb_comp_find(const struct nfb_device *dev, const char *compatible, unsigned index)
{
	check_device(dev, "nfb_comp_find");
	return strcmp(compatible, kind()) == 0 ? (int)(100 + index) : -1;
}

struct nfb_comp *nfb_comp_open(const struct nfb_device *dev, int offset)
{
	check_device(dev, "nfb_comp_open");
	comps[offset - 100] = (struct nfb_comp){ .is_open = 1, .queue = (unsigned)offset - 100 };
	return &comps[offset - 100];
}

void nfb_comp_close(struct nfb_comp *comp)
{
	if (!comp->is_open || !card.is_open)
		note("FAULT nfb_comp_close: not open");
	comp->is_open = 0;
}

/* The card counted before anybody looked: 1000 received and 70 discarded. */
static void latch(struct nfb_comp *comp)
{
	comp->latched[0] = 1000 + queues[comp->queue].next;
	comp->latched[1] = 70 + (queues[comp->queue].next ? (uint64_t)key("discarded", 0) : 0);
}

ssize_t nfb_comp_write(struct nfb_comp *comp, const void *buffer, size_t size, off_t offset)
{
	uint32_t command;
	if (!comp->is_open || size != sizeof(command) || offset != 0x60)
		note("FAULT nfb_comp_write");
	memcpy(&command, buffer, sizeof(command));
	if (command != 1)
		note("FAULT nfb_comp_write: %u is no strobe", command);
	latch(comp);
	return (ssize_t)size;
}

ssize_t nfb_comp_read(struct nfb_comp *comp, void *buffer, size_t size, off_t offset)
{
	long first = key("counters", 1) == 2 ? 0x30 : 0x60, second = key("counters", 1) == 2 ? 0x38 : 0x70;
	if (!comp->is_open || size != 8 || (offset != first && offset != second))
		note("FAULT nfb_comp_read");
	if (key("unreadable_after", -1) >= 0 && (long)card.reads++ >= key("unreadable_after", -1))
		return -1;
	if (key("counters", 1) == 2)
		latch(comp);
	memcpy(buffer, &comp->latched[offset == second], 8);
	return 8;
}
