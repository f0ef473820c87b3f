/* A program that captures with libpcap, in blocks that the kernel passes on after a second:
 *   mine INTERFACE LIMIT [FILE]
 * It stops reading after LIMIT frames (0: never) and waits for SIGINT. It writes a FILE, or prints what tcpdump prints. */
#include <pcap.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static pcap_t *handle;
static pcap_dumper_t *file;
static long frames;

static void end(int number)
{
	(void)number;
	pcap_breakloop(handle);
}

static void take(unsigned char *unused, const struct pcap_pkthdr *header, const unsigned char *data)
{
	(void)unused;
	frames++;
	if (file)
		pcap_dump((unsigned char *)file, header, data);
}

int main(int count, char **words)
{
	struct sigaction action = { .sa_handler = end };
	char error[PCAP_ERRBUF_SIZE];
	struct pcap_stat said;
	long limit = atol(words[2]);

	handle = pcap_open_live(words[1], 65535, 1, 1000, error);
	if (!handle) {
		fprintf(stderr, "%s\n", error);
		return 1;
	}
	file = count > 3 ? pcap_dump_open(handle, words[3]) : NULL;
	sigaction(SIGINT, &action, NULL);
	while (!limit || frames < limit)
		if (pcap_dispatch(handle, limit ? limit - frames : -1, take, NULL) < 0)
			break;
	if (limit && frames == limit)
		pause();
	if (file) {
		pcap_dump_close(file);
		return 0;
	}
	pcap_stats(handle, &said);
	printf("%ld packets captured\n%u packets received by filter\n%u packets dropped by kernel\n", frames, said.ps_recv,
	       said.ps_drop);
	return 0;
}
