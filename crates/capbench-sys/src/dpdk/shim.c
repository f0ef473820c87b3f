/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * See shim.h for what each function promises. Against DPDK 22.11; the guides are under doc.dpdk.org/guides-22.11.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include <rte_build_config.h>
#include <rte_dev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>
#include <rte_log.h>
#include <rte_mbuf.h>
#include <rte_version.h>

#include "shim.h"

/* As src/dpdk/ffi.rs has them. */
_Static_assert(sizeof(struct capbench_dpdk_frame) == 24 && offsetof(struct capbench_dpdk_frame, vlan_stripped) == 18,
	       "layout");
_Static_assert(sizeof(struct capbench_dpdk_wanted) == 20 && offsetof(struct capbench_dpdk_wanted, threads) == 18,
	       "layout");
_Static_assert(sizeof(struct capbench_dpdk_port) == 96 && offsetof(struct capbench_dpdk_port, rss) == 89, "layout");
_Static_assert(sizeof(struct capbench_dpdk_counter) == 72, "layout");

/* ---- What DPDK says: kept in memory, its end only, so that it never mixes with the program's own output ---- */

static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static char said_text[8192];
static size_t said_length;
static FILE *said_stream;
static FILE *nothing_stream;

static ssize_t keep(void *cookie, const char *text, size_t size)
{
	size_t used = size, room;

	(void)cookie;
	pthread_mutex_lock(&said_lock);
	if (used > sizeof(said_text)) {
		text += used - sizeof(said_text);
		used = sizeof(said_text);
	}
	room = sizeof(said_text) - said_length;
	if (used > room) {
		size_t lost = used - room;

		memmove(said_text, said_text + lost, said_length - lost);
		said_length -= lost;
	}
	memcpy(said_text + said_length, text, used);
	said_length += used;
	pthread_mutex_unlock(&said_lock);
	return (ssize_t)size;
}

static ssize_t drop(void *cookie, const char *text, size_t size)
{
	(void)cookie;
	(void)text;
	return (ssize_t)size;
}

/* The streams live as long as the process: a library may keep a pointer to one. */
static int open_streams(void)
{
	cookie_io_functions_t to_text = { .write = keep }, to_nothing = { .write = drop };

	if (said_stream != NULL)
		return 0;
	nothing_stream = fopencookie(NULL, "w", to_nothing);
	said_stream = fopencookie(NULL, "w", to_text);
	if (nothing_stream == NULL || said_stream == NULL) {
		said_stream = NULL;
		return -ENOMEM;
	}
	setvbuf(said_stream, NULL, _IONBF, 0);
	setvbuf(nothing_stream, NULL, _IONBF, 0);
	return rte_openlog_stream(said_stream);
}

/* DPDK prints its usage to stdout, getopt and libbpf complain on stderr. In the GNU C library both are variables; the
 * program itself, being Rust, does not print through them.
 *
 * They belong to the whole process. Two threads in here at once could restore each other's streams in the wrong order
 * and leave it without a stderr. So hush() and unhush() are called only under the lock STATE of eal.rs. The caller of
 * capbench_dpdk_start() holds it while the starting thread runs. Callers that open and close devices or register
 * threads hold it as a Turn (OpenPort::open, its drop, Port::next). A new caller needs the same. */
struct quiet {
	FILE *out, *err;
};

static struct quiet hush(void)
{
	struct quiet before = { stdout, stderr };

	if (said_stream != NULL) {
		stdout = nothing_stream;
		stderr = said_stream;
	}
	return before;
}

static void unhush(struct quiet before)
{
	stdout = before.out;
	stderr = before.err;
}

size_t capbench_dpdk_said(char *text, size_t size)
{
	size_t length;

	pthread_mutex_lock(&said_lock);
	length = said_length < size ? said_length : size;
	memcpy(text, said_text + (said_length - length), length);
	said_length = 0;
	pthread_mutex_unlock(&said_lock);
	return length;
}

/* ---- The EAL ---- */

const char *capbench_dpdk_version(void)
{
	return rte_version();
}

const char *capbench_dpdk_driver_directory(void)
{
	return RTE_EAL_PMD_PATH;
}

const char *capbench_dpdk_reason(int error)
{
	return rte_strerror(error);
}

/* An errno as a negative number, whichever way a call reported it. */
static int negative(int result)
{
	if (result < -1)
		return result;
	return rte_errno > 0 ? -rte_errno : -EIO;
}

int capbench_dpdk_start(int count, char **arguments)
{
	struct quiet before;
	int result = open_streams();

	if (result < 0)
		return result;
	before = hush();
	rte_errno = 0;
	result = rte_eal_init(count, arguments);
	unhush(before);
	return result < 0 ? negative(-1) : 0;
}

int capbench_dpdk_register_thread(void)
{
	struct quiet before = hush();
	int result = rte_thread_register();

	unhush(before);
	return result < 0 ? negative(result) : 0;
}

void capbench_dpdk_unregister_thread(void)
{
	rte_thread_unregister();
}

int capbench_dpdk_plug(const char *bus, const char *name, const char *arguments)
{
	struct quiet before = hush();
	int result;

	rte_errno = 0;
	result = rte_eal_hotplug_add(bus, name, arguments);
	unhush(before);
	return result < 0 ? negative(result) : 0;
}

int capbench_dpdk_unplug(const char *bus, const char *name)
{
	struct quiet before = hush();
	int result;

	rte_errno = 0;
	result = rte_eal_hotplug_remove(bus, name);
	unhush(before);
	return result < 0 ? negative(result) : 0;
}

/* ---- Ports ---- */

/* Everything between configuring and starting; *failed names the call that a negative errno is from. */
static int configure(const struct capbench_dpdk_wanted *wanted, const char *pool_name, struct capbench_dpdk_port *port,
		     const char **failed)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	struct rte_eth_conf conf;
	uint16_t transmit_descriptors = wanted->transmit_descriptors, queue;
	uint32_t buffers;
	unsigned int cache;
	int result;

	*failed = "rte_eth_dev_info_get";
	result = rte_eth_dev_info_get(port->number, &info);
	if (result != 0)
		return result;
	snprintf(port->driver, sizeof(port->driver), "%s", info.driver_name);
	port->queues = info.max_rx_queues;
	if (wanted->queues != 0 && wanted->queues < port->queues)
		port->queues = wanted->queues;

	memset(&conf, 0, sizeof(conf));
	conf.rxmode.mtu = wanted->mtu;
	conf.rxmode.offloads = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
	port->vlan_stripped = conf.rxmode.offloads != 0;
	if (port->queues > 1)
		conf.rx_adv_conf.rss_conf.rss_hf =
			info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
	port->rss = conf.rx_adv_conf.rss_conf.rss_hf != 0;
	conf.rxmode.mq_mode = port->rss ? RTE_ETH_MQ_RX_RSS : RTE_ETH_MQ_RX_NONE;
	*failed = "rte_eth_dev_configure";
	result = rte_eth_dev_configure(port->number, port->queues, wanted->transmit_queues, &conf);
	if (result != 0)
		return result;
	port->descriptors = wanted->descriptors;
	*failed = "rte_eth_dev_adjust_nb_rx_tx_desc";
	result = rte_eth_dev_adjust_nb_rx_tx_desc(port->number, &port->descriptors, &transmit_descriptors);
	if (result != 0)
		return result;

	/* A cache for each registered thread, which may keep half as many buffers again. */
	cache = wanted->spare / 2 < RTE_MEMPOOL_CACHE_MAX_SIZE ? wanted->spare / 2 : RTE_MEMPOOL_CACHE_MAX_SIZE;
	buffers = (uint32_t)port->descriptors * port->queues + wanted->threads * (wanted->spare + 2 * cache);
	/* A port that only receives sends nothing that would need a buffer. */
	if (wanted->transmits)
		buffers += (uint32_t)transmit_descriptors * wanted->transmit_queues;
	*failed = "rte_pktmbuf_pool_create";
	port->pool = rte_pktmbuf_pool_create(pool_name, buffers, cache, 0, wanted->room, SOCKET_ID_ANY);
	if (port->pool == NULL)
		return negative(-1);
	port->buffers = buffers;

	*failed = "rte_eth_rx_queue_setup";
	for (queue = 0; queue < port->queues; queue++) {
		result = rte_eth_rx_queue_setup(port->number, queue, port->descriptors, SOCKET_ID_ANY, NULL, port->pool);
		if (result != 0)
			return result;
	}
	*failed = "rte_eth_tx_queue_setup";
	for (queue = 0; queue < wanted->transmit_queues; queue++) {
		result = rte_eth_tx_queue_setup(port->number, queue, transmit_descriptors, SOCKET_ID_ANY, NULL);
		if (result != 0)
			return result;
	}
	/* Before the start, which sets the mode that is on record: a virtual device would switch its interface back. */
	*failed = "rte_eth_promiscuous_enable";
	result = wanted->promiscuous ? rte_eth_promiscuous_enable(port->number) : 0;
	if (result != 0 && result != -ENOTSUP)
		return result;
	*failed = "rte_eth_macaddr_get";
	result = rte_eth_macaddr_get(port->number, &mac);
	if (result != 0)
		return result;
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	*failed = "rte_eth_dev_start";
	return rte_eth_dev_start(port->number);
}

int capbench_dpdk_open(const char *name, const char *pool, const struct capbench_dpdk_wanted *wanted,
		       struct capbench_dpdk_port *port, const char **failed)
{
	struct quiet before = hush();
	int result;

	memset(port, 0, sizeof(*port));
	rte_errno = 0;
	*failed = "rte_eth_dev_get_port_by_name";
	result = rte_eth_dev_get_port_by_name(name, &port->number);
	if (result == 0) {
		result = configure(wanted, pool, port, failed);
		if (result != 0) {
			rte_eth_dev_close(port->number);
			rte_mempool_free(port->pool);
			port->pool = NULL;
		}
	}
	unhush(before);
	return result;
}

void capbench_dpdk_close(const struct capbench_dpdk_port *port)
{
	struct quiet before = hush();

	rte_eth_dev_stop(port->number);
	rte_eth_dev_close(port->number);
	unhush(before);
}

void capbench_dpdk_free_pool(const struct capbench_dpdk_port *port)
{
	rte_mempool_free(port->pool);
}

uint16_t capbench_dpdk_receive(uint16_t port, uint16_t queue, void **buffers, struct capbench_dpdk_frame *frames,
			       uint16_t count)
{
	struct rte_mbuf **mbufs = (struct rte_mbuf **)buffers;
	uint16_t received = rte_eth_rx_burst(port, queue, mbufs, count), i;

	for (i = 0; i < received; i++) {
		struct rte_mbuf *mbuf = mbufs[i];

		/* Where the first segment has no room for the others, wire_length shows that the frame goes on. */
		if (unlikely(mbuf->nb_segs > 1))
			rte_pktmbuf_linearize(mbuf);
		frames[i].data = rte_pktmbuf_mtod(mbuf, const uint8_t *);
		frames[i].length = rte_pktmbuf_data_len(mbuf);
		frames[i].wire_length = rte_pktmbuf_pkt_len(mbuf);
		frames[i].vlan_tci = mbuf->vlan_tci;
		frames[i].vlan_stripped = (mbuf->ol_flags & RTE_MBUF_F_RX_VLAN_STRIPPED) != 0;
		frames[i].reserved = 0;
	}
	return received;
}

void capbench_dpdk_free(void **buffers, uint16_t count)
{
	rte_pktmbuf_free_bulk((struct rte_mbuf **)buffers, count);
}

uint16_t capbench_dpdk_send(const struct capbench_dpdk_port *port, uint16_t queue, const uint8_t *frames, size_t stride,
			    const uint16_t *lengths, uint16_t count)
{
	struct rte_mbuf *mbufs[256];
	uint16_t filled, sent;

	if (count > RTE_DIM(mbufs))
		count = RTE_DIM(mbufs);
	if (rte_pktmbuf_alloc_bulk(port->pool, mbufs, count) != 0)
		return 0;
	for (filled = 0; filled < count; filled++) {
		char *octets = rte_pktmbuf_append(mbufs[filled], lengths[filled]);

		if (octets == NULL)
			break;
		memcpy(octets, frames + filled * stride, lengths[filled]);
	}
	sent = rte_eth_tx_burst(port->number, queue, mbufs, filled);
	rte_pktmbuf_free_bulk(mbufs + sent, count - sent);
	return sent;
}

int capbench_dpdk_counters(uint16_t port, struct capbench_dpdk_counter *counters, unsigned int size)
{
	int known = rte_eth_xstats_get_names(port, NULL, 0), filled, i;
	struct rte_eth_xstat_name *names;
	struct rte_eth_xstat *values;

	if (known <= 0)
		return known;
	names = calloc((size_t)known, sizeof(*names));
	values = calloc((size_t)known, sizeof(*values));
	filled = names == NULL || values == NULL ? -ENOMEM : rte_eth_xstats_get_names(port, names, (unsigned int)known);
	if (filled >= 0)
		filled = rte_eth_xstats_get(port, values, (unsigned int)known);
	/* More than there is room for: the driver has grown counters in between. */
	if (filled > known)
		filled = -EAGAIN;
	for (i = 0; i < filled && (unsigned int)i < size; i++) {
		if (values[i].id >= (uint64_t)known) {
			filled = -EIO;
			break;
		}
		snprintf(counters[i].name, sizeof(counters[i].name), "%s", names[values[i].id].name);
		counters[i].value = values[i].value;
	}
	free(names);
	free(values);
	return filled;
}
