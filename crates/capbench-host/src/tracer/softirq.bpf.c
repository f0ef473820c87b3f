// SPDX-License-Identifier: MIT OR GPL-2.0-only
// Times, per CPU, every run of the receive softirq: how long it took, and in the time of which thread. These programs are attached
// in trials that time softirqs, and in no others. A late timer tick shows that the CPU stalled: that program is always attached.
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

#define NET_RX 3              /* of the enumeration in linux/interrupt.h, the same since Linux 2.6.24 */
#define PF_KTHREAD 0x00200000 /* linux/sched.h */

#define STALLS 64             /* kept on each CPU; a power of two */
#define LATE 500000           /* ns; a tick that is later than this shows that the CPU stalled */

struct task_struct { unsigned int flags; int pid, tgid; char comm[16]; } __attribute__((preserve_access_index));
struct timerqueue_node { long long expires; } __attribute__((preserve_access_index));
struct hrtimer { struct timerqueue_node node; void *function; } __attribute__((preserve_access_index));

/* What the timer of the tick calls (kernel/time/tick-sched.c). It is always started into the future, other timers are not. */
extern const void tick_nohz_handler __ksym __weak; /* since Linux 6.9 */
extern const void tick_sched_timer __ksym __weak;  /* before */

/* The CPU stalled until `until` (CLOCK_MONOTONIC): at least since the tick was due, at most since it was last seen. */
struct stall { __u64 until, at_least, at_most; };

struct work {
	__u64 runs;         /* that ended */
	__u64 total;        /* their ns */
	__u64 in_processes; /* part of the total: it interrupted a thread of a process */
	__u64 in_napi;      /* part of the total: in a thread that polls, whose run time has it, too */
	__u64 in_capture;   /* part of in_processes: it interrupted a thread that captures */
	__u64 entered;      /* when a run began, by CLOCK_MONOTONIC; 0: none runs */
	__u64 seen;         /* when one of these programs last read the clock */
	__u64 ticks, stalls;
	struct stall last[STALLS]; /* a ring */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct work);
} work SEC(".maps");

/* The process whose threads capture, as the kernel numbers it; 0: unknown. */
const volatile __u32 process = 0;

/* When the programs were attached, by CLOCK_MONOTONIC: the end of a run that began earlier was not seen. */
volatile __u64 attached;

/* Whether a kernel thread polls for packets: napi/INTERFACE-ID of napi_kthread_create, backlog_napi/CPU of
 * backlog_napi_setup (net/core/dev.c). The run time of others, nfsd or btrfs for example, is no part of the account. */
static __always_inline int polls(const char *name)
{
	if (name[0] == 'b' && name[1] == 'a' && name[2] == 'c' && name[3] == 'k' && name[4] == 'l' && name[5] == 'o' &&
	    name[6] == 'g' && name[7] == '_')
		return name[8] == 'n' && name[9] == 'a' && name[10] == 'p' && name[11] == 'i' && name[12] == '/';
	return name[0] == 'n' && name[1] == 'a' && name[2] == 'p' && name[3] == 'i' && name[4] == '/';
}

/* Whether a thread of the process captures: capbench-app and capbench-work do (live/receive_side.rs, receiver/queue.rs of
 * capbench-lab), capbench-gen sends. */
static __always_inline int captures(const char *name)
{
	return name[0] == 'c' && name[8] == '-' && (name[9] == 'a' || name[9] == 'w');
}

/* Notes in the time of which thread a softirq ran. */
static __always_inline void note(struct work *mine, __u64 spent, int is_of_kernel, __u32 tgid, const char *name)
{
	if (!is_of_kernel) {
		mine->in_processes += spent;
		if (tgid == process && captures(name))
			mine->in_capture += spent;
	} else if (polls(name))
		mine->in_napi += spent;
}

SEC("tp_btf/softirq_entry") int softirq_entry(__u64 *arguments)
{
	__u32 zero = 0;
	struct work *mine = arguments[0] == NET_RX ? bpf_map_lookup_elem(&work, &zero) : 0;

	if (!mine)
		return 0;
	mine->seen = mine->entered = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/softirq_exit") int softirq_exit(__u64 *arguments)
{
	__u32 zero = 0;
	struct work *mine = arguments[0] == NET_RX ? bpf_map_lookup_elem(&work, &zero) : 0;

	if (!mine || !mine->entered || mine->entered < attached)
		return 0;
	__u64 now = bpf_ktime_get_ns();
	__u64 spent = now - mine->entered;
	mine->entered = 0;
	mine->seen = now;
	mine->total += spent;
	mine->runs++;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		/* Its members are read without a call. */
		struct task_struct *task = bpf_get_current_task_btf();
		if (task->pid) /* else the CPU was idle */
			note(mine, spent, task->flags & PF_KTHREAD, task->tgid, task->comm);
		return 0;
	}
	struct task_struct *task = (void *)bpf_get_current_task(); /* before Linux 5.11 */
	char name[16] = {};
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;
	if (tgid && !bpf_get_current_comm(name, sizeof(name)))
		note(mine, spent, BPF_CORE_READ(task, flags) & PF_KTHREAD, tgid, name);
	return 0;
}

SEC("tp_btf/hrtimer_expire_entry") int hrtimer_expire_entry(__u64 *arguments)
{
	struct hrtimer *timer = (void *)arguments[0];
	const void *function = timer->function;
	__u32 zero = 0;

	if (function != &tick_nohz_handler && function != &tick_sched_timer)
		return 0;
	struct work *mine = bpf_map_lookup_elem(&work, &zero);
	if (!mine)
		return 0;
	__u64 now = bpf_ktime_get_ns(), seen = mine->seen, since = timer->node.expires;
	mine->seen = now;
	mine->ticks++;
	if (since < seen)
		since = seen; /* it ran after the tick was due: the timer itself was late */
	if (now < since + LATE)
		return 0;
	struct stall *stall = &mine->last[mine->stalls & (STALLS - 1)];
	stall->until = now;
	stall->at_least = now - since;
	stall->at_most = now - (seen ? seen : since);
	mine->stalls++;
	return 0;
}

char licence[] SEC("license") = "Dual MIT/GPL";
