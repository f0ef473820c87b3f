// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Goes over the open files of all processes and reports the counters of each AF_PACKET and AF_XDP socket. It only
// reads: PACKET_STATISTICS would set the counters of a socket that belongs to somebody else to 0.
#include "record.h"

#define FAMILY_PACKET 17
#define FAMILY_XDP 44

/* The process by its number in the reader's PID namespace: the iterator goes over that namespace and those in it. */
static int process_of(struct task_struct *task)
{
	struct task_struct *reader = (struct task_struct *)bpf_get_current_task();
	unsigned int level = BPF_CORE_READ(reader, thread_pid, level);
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	char *first = (char *)__builtin_preserve_access_index(&pid->numbers[0].nr);
	int number = 0;

	if (pid)
		bpf_probe_read_kernel(&number, sizeof(number), first + level * bpf_core_type_size(struct upid));
	return number;
}

SEC("iter/task_file") int packet_sockets(struct bpf_iter__task_file *context)
{
	struct task_struct *task = context->task;
	struct file *file = context->file;
	struct record record = {};
	struct socket *socket;
	struct sock *sk;

	if (!task || !file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = BPF_CORE_READ(socket, sk);
	record.family = BPF_CORE_READ(sk, __sk_common.skc_family);
	if (record.family != FAMILY_PACKET && record.family != FAMILY_XDP)
		return 0;
	record.inode = BPF_CORE_READ(file, f_inode, i_ino);
	record.process = process_of(task);
	record.space = BPF_CORE_READ(sk, __sk_common.skc_net.net, ns.inum);
	record.receive_buffer = BPF_CORE_READ(sk, sk_rcvbuf);
	record.filtered = BPF_CORE_READ(sk, sk_filter) != 0;
	/* Modules may come without a description of their structures. */
	if (record.family == FAMILY_PACKET && bpf_core_type_exists(struct packet_sock)) {
		record.readable = 1;
		take_packet((struct packet_sock *)sk, &record);
	}
	if (record.family == FAMILY_XDP && bpf_core_type_exists(struct xdp_sock)) {
		record.readable = 1;
		take_xdp((struct xdp_sock *)sk, &record);
	}
	bpf_seq_write(context->meta->seq, &record, sizeof(record));
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
