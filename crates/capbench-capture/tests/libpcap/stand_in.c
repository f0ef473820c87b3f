/* A libpcap that is none: it returns canned packets by libpcap's public interface and checks how it is called.
 *
 * It writes its calls to the file LOG, a line each; what breaks the contract of the manual pages as a line that begins
 * with "broken:". Packets are overwritten as soon as their time is over. How it behaves is set when it is compiled:
 *
 *   LOG            the file
 *   VERSION        what it says of itself
 *   PACKETS        how many packets there are, number n of them 60 + n octets full of n
 *   CREATE_FAILS   pcap_create fails
 *   ACTIVATE       what pcap_activate returns, with ACTIVATE_TEXT as the error text
 *   FAILS_AFTER    how many packets it gives before every reading call fails
 *   PACKET_SOCKET  its descriptors look like those of a packet socket without a ring
 *   STATS_STEP     what each pcap_stats adds to ps_recv; ps_drop counts half as fast
 *   NO_STATS       it has no pcap_stats
 *   NO_DESCRIPTOR  it has no descriptor to wait on
 *   ANCIENT        it has libpcap's interface from before 1.0
 *   OLD            it is older than immediate mode and nanoseconds
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#ifndef VERSION
#define VERSION "libpcap version 0.0 (a stand-in)"
#endif
#ifndef PACKETS
#define PACKETS 10
#endif
#ifndef ACTIVATE
#define ACTIVATE 0
#endif
#ifndef ACTIVATE_TEXT
#define ACTIVATE_TEXT ""
#endif
#ifndef FAILS_AFTER
#define FAILS_AFTER (PACKETS + 1)
#endif
#ifndef STATS_STEP
#define STATS_STEP 100u
#endif

struct header {
  struct timeval time;
  uint32_t captured, length;
};
struct statistics {
  unsigned received, dropped, interface_dropped;
};
typedef void (*handler)(unsigned char *, const struct header *, const unsigned char *);
typedef struct handle {
  int is_active, is_closed, nonblocking, snap, nanoseconds, fd, returned;
  volatile int broken_off;
  int reading;
  struct statistics statistics;
  struct header header;
  unsigned char data[65536];
  char text[256];
} pcap_t;

static void note(const char *format, ...) {
  FILE *file = fopen(LOG, "a");
  va_list arguments;
  if (!file) return;
  va_start(arguments, format);
  vfprintf(file, format, arguments);
  va_end(arguments);
  fputc('\n', file);
  fclose(file);
}

/* Handles are never freed, so that a use of one that was closed is seen and does no harm. */
static void expect(pcap_t *p, int active, const char *function) {
  if (p->is_closed) note("broken: %s after pcap_close", function);
  else if (p->is_active != active) note("broken: %s %s pcap_activate", function, active ? "before" : "after");
  if (p->reading) note("broken: %s inside a callback", function);
}

const char *pcap_lib_version(void) { return VERSION; }

pcap_t *pcap_create(const char *interface, char *message) {
#ifdef CREATE_FAILS
  strcpy(message, "the stand-in makes none");
  return NULL;
#endif
  pcap_t *p = calloc(1, sizeof *p);
  note("create %s", interface);
  p->snap = 1;
  p->fd = -1;
  return p;
}

#define SETTER(name, member)                 \
  int pcap_set_##name(pcap_t *p, int value) { \
    expect(p, 0, "pcap_set_" #name);         \
    note("set_" #name " %d", value);         \
    member;                                  \
    return 0;                                \
  }
#ifdef ANCIENT
pcap_t *pcap_open_live(void) { return NULL; }
#else
SETTER(snaplen, p->snap = value)
#endif
SETTER(promisc, (void)0)
SETTER(timeout, (void)0)
SETTER(buffer_size, (void)0)
#ifndef OLD
SETTER(immediate_mode, (void)0)
SETTER(tstamp_precision, p->nanoseconds = value)
#endif

int pcap_activate(pcap_t *p) {
  expect(p, 0, "pcap_activate");
  note("activate");
  strcpy(p->text, ACTIVATE_TEXT);
  if (ACTIVATE < 0) return ACTIVATE;
  p->is_active = 1;
#ifdef PACKET_SOCKET
  p->fd = socket(AF_PACKET, SOCK_RAW, 0);
#else
  p->fd = eventfd(1, EFD_NONBLOCK);
#endif
  return ACTIVATE;
}

void pcap_close(pcap_t *p) {
  if (p->is_closed) {
    note("broken: pcap_close twice");
    return;
  }
  if (p->reading) note("broken: pcap_close inside a callback");
  note("close");
  p->is_closed = 1;
  if (p->fd >= 0) close(p->fd);
}

const char *pcap_geterr(pcap_t *p) {
  if (p->is_closed) note("broken: pcap_geterr after pcap_close");
  return p->text;
}
const char *pcap_statustostr(int status) { return status == -8 ? "no permission" : status == 2 ? "not promiscuous" : "another status"; }

int pcap_setdirection(pcap_t *p, int direction) {
  expect(p, 1, "pcap_setdirection");
  note("setdirection %d", direction);
  return 0;
}
int pcap_setnonblock(pcap_t *p, int on, char *message) {
  (void)message;
  expect(p, 1, "pcap_setnonblock");
  note("setnonblock %d", on);
  p->nonblocking = on;
  return 0;
}
int pcap_fileno(pcap_t *p) {
  expect(p, 1, "pcap_fileno");
#ifdef NO_DESCRIPTOR
  return -1;
#endif
  return p->fd;
}
int pcap_get_selectable_fd(pcap_t *p) { return pcap_fileno(p); }

#ifndef NO_STATS
int pcap_stats(pcap_t *p, struct statistics *to) {
  expect(p, 1, "pcap_stats");
  p->statistics.received += STATS_STEP;
  p->statistics.dropped += STATS_STEP / 2;
  *to = p->statistics;
  return 0;
}
#endif

static void spoil(pcap_t *p) {
  memset(p->data, 0xee, sizeof p->data);
  memset(&p->header, 0xee, sizeof p->header);
}

/* The next packet: 1, or 0 when there is none, or -1. */
static int take(pcap_t *p) {
  uint64_t drained;
  int number = p->returned;
  spoil(p);
  if (number >= FAILS_AFTER) {
    strcpy(p->text, "the stand-in fails on purpose");
    return -1;
  }
  if (number >= PACKETS) {
#ifndef PACKET_SOCKET
    if (read(p->fd, &drained, sizeof drained) < 0) return 0;
#endif
    return 0;
  }
  p->returned++;
  p->header.length = 60 + number;
  p->header.captured = (int)p->header.length < p->snap ? (int)p->header.length : p->snap;
  p->header.time.tv_sec = 1000 + number;
  p->header.time.tv_usec = p->nanoseconds ? 123456789 : 123456;
  memset(p->data, number, p->header.length);
  return 1;
}

int pcap_next_ex(pcap_t *p, struct header **header, const unsigned char **data) {
  int result;
  expect(p, 1, "pcap_next_ex");
  if (!p->nonblocking) note("broken: pcap_next_ex may block for ever");
  result = take(p);
  *header = &p->header;
  if (result == 1) *data = p->data;
  return result;
}

const unsigned char *pcap_next(pcap_t *p, struct header *header) {
  expect(p, 1, "pcap_next");
  if (!p->nonblocking) note("broken: pcap_next may block for ever");
  if (take(p) != 1) return NULL;
  *header = p->header;
  return p->data;
}

static int call_back(pcap_t *p, handler call, unsigned char *user) {
  int result = take(p);
  if (result != 1) return result;
  p->reading = 1;
  call(user, &p->header, p->data);
  p->reading = 0;
  spoil(p);
  return 1;
}

static int break_off(pcap_t *p) {
  int is = p->broken_off;
  p->broken_off = 0;
  return is;
}

int pcap_dispatch(pcap_t *p, int count, handler call, unsigned char *user) {
  int done = 0;
  expect(p, 1, "pcap_dispatch");
  if (!p->nonblocking) note("broken: pcap_dispatch may block for ever");
  if (count <= 0) note("broken: pcap_dispatch may never come back");
  while (done < count) {
    int result = call_back(p, call, user);
    if (result < 0) return result;
    if (result == 0) break;
    done++;
    if (break_off(p)) return -2;
  }
  return done;
}

/* Waits for packets as an old libpcap does: only a signal ends that, and only its handler's call of pcap_breakloop. */
int pcap_loop(pcap_t *p, int count, handler call, unsigned char *user) {
  int done = 0;
  expect(p, 1, "pcap_loop");
  if (p->nonblocking) note("broken: pcap_loop turns for ever where it may not block");
  while (count <= 0 || done < count) {
    int result = call_back(p, call, user);
    if (result < 0) return result;
    done += result;
    if (break_off(p)) return -2;
    if (result == 0) {
      if (poll(NULL, 0, 20000) == 0) {
        note("broken: pcap_loop was not broken off");
        return -2;
      }
      if (break_off(p)) return -2;
    }
  }
  return 0;
}

void pcap_breakloop(pcap_t *p) {
  if (p->is_closed) note("broken: pcap_breakloop after pcap_close");
  p->broken_off = 1;
}
