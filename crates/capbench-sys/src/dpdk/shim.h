/* SPDX-License-Identifier: Apache-2.0 OR MIT
 *
 * What capbench needs of DPDK, as plain functions. DPDK's receive path is made of inline functions and its structures
 * change between releases; both stay on this side. src/dpdk/ffi.rs declares the same on the other side.
 *
 * Functions that return int return 0 or a negative errno, unless they say otherwise.
 */
#ifndef CAPBENCH_DPDK_SHIM_H
#define CAPBENCH_DPDK_SHIM_H

#include <stddef.h>
#include <stdint.h>

/* A frame of a burst: its first segment, which is all of it unless linear is 0. */
struct capbench_dpdk_frame {
	const uint8_t *data;  /* first octet of the destination address */
	uint32_t length;      /* octets behind data */
	uint32_t wire_length; /* octets of all segments */
	uint16_t vlan_tci;    /* valid with vlan_stripped */
	uint8_t vlan_stripped;
	uint8_t reserved;
};

/* What a port is to be. */
struct capbench_dpdk_wanted {
	uint32_t mtu;           /* 0: as it is */
	uint16_t queues;        /* receive queues, as far as the device has them; 0: all that it has */
	uint16_t descriptors;   /* per receive queue */
	uint16_t transmit_queues;      /* 1 or more: some drivers refuse a port that cannot transmit */
	uint16_t transmit_descriptors; /* per transmit queue */
	uint16_t room;          /* octets of data in a buffer, head room included */
	uint16_t spare;         /* buffers of each thread, in addition to those of the descriptors */
	uint8_t promiscuous;    /* mode that the port is started in */
	uint8_t transmits;      /* whether capbench_dpdk_send() is used */
	uint16_t threads;       /* that receive or send */
};

/* What a port turned out to be. */
struct capbench_dpdk_port {
	char driver[64];        /* name of the driver that runs it */
	void *pool;             /* its buffers */
	uint32_t buffers;       /* how many */
	uint16_t number;        /* DPDK's number of the port */
	uint16_t queues;        /* receive queues in use */
	uint16_t descriptors;   /* per receive queue, as granted */
	uint8_t vlan_stripped;  /* whether tags are removed from frames and reported as metadata */
	uint8_t mac[6];
	uint8_t rss;            /* whether the device spreads frames over several queues by their flow */
	uint8_t reserved[2];
};

/* A counter of a port. */
struct capbench_dpdk_counter {
	char name[64];
	uint64_t value;
};

/* rte_version(); valid for ever. */
const char *capbench_dpdk_version(void);
/* The directory from which the EAL loads its drivers; valid for ever. */
const char *capbench_dpdk_driver_directory(void);
/* rte_strerror(); valid until the thread's next call. */
const char *capbench_dpdk_reason(int error);

/* Copies what DPDK and its libraries have said since the last call, at most size bytes, and forgets it; returns how
 * many bytes there were. */
size_t capbench_dpdk_said(char *text, size_t size);

/* rte_eal_init() with count arguments, quietly. May change the calling thread's affinity and keeps pointers to the
 * arguments: they have to live for ever. */
int capbench_dpdk_start(int count, char **arguments);

/* rte_thread_register() and rte_thread_unregister() for the calling thread. */
int capbench_dpdk_register_thread(void);
void capbench_dpdk_unregister_thread(void);

/* Plugs a device in: bus "vdev" or "pci", its name there, arguments for its driver. Sockets are opened in the calling
 * thread's network namespace. */
int capbench_dpdk_plug(const char *bus, const char *name, const char *arguments);
/* Takes a device out that has no open port. */
int capbench_dpdk_unplug(const char *bus, const char *name);

/* Configures and starts the port of a plugged device with separate buffers. On failure the port is closed, the
 * buffers are freed, and failed names the call. */
int capbench_dpdk_open(const char *name, const char *pool, const struct capbench_dpdk_wanted *wanted,
		       struct capbench_dpdk_port *port, const char **failed);
/* Stops and closes the port; the buffers stay until capbench_dpdk_free_pool. */
void capbench_dpdk_close(const struct capbench_dpdk_port *port);
/* Frees the buffers of a closed port, none of which may be in use. */
void capbench_dpdk_free_pool(const struct capbench_dpdk_port *port);

/* rte_eth_rx_burst() of at most count frames. Fills buffers and frames and returns how many; each buffer belongs to
 * the caller until capbench_dpdk_free. Never sleeps for af_packet; see the driver for others. */
uint16_t capbench_dpdk_receive(uint16_t port, uint16_t queue, void **buffers, struct capbench_dpdk_frame *frames,
			       uint16_t count);
/* Gives buffers of one burst back. */
void capbench_dpdk_free(void **buffers, uint16_t count);

/* Copies at most count frames into buffers, of which each holds length octets, and passes them to rte_eth_tx_burst();
 * returns how many the driver took, which are the first ones. Frame i begins at frames + i * stride. */
uint16_t capbench_dpdk_send(const struct capbench_dpdk_port *port, uint16_t queue, const uint8_t *frames, size_t stride,
			    const uint16_t *lengths, uint16_t count);

/* rte_eth_xstats_get() with names: fills at most size counters and returns how many there are, or a negative errno. */
int capbench_dpdk_counters(uint16_t port, struct capbench_dpdk_counter *counters, unsigned int size);

#endif
