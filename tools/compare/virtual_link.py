"""A virtual link between two namespaces, and programs that capture on it."""

import os
import subprocess
import time
from pathlib import Path

TRANSMITTER, RECEIVER = "tx0", "rx0"


class Failed(Exception):
    """A program that does not capture."""


class Link:
    """Two namespaces with a veth pair between them. The kernel's receive work is done on the CPU `receive_cpu`, or without one on
    the sender's."""

    def __init__(self, receive_cpu=None):
        self.name = f"capbench-cmp-{os.getpid()}"
        self.tx, self.rx = f"{self.name}-tx", f"{self.name}-rx"
        run(["ip", "netns", "add", self.tx])
        run(["ip", "netns", "add", self.rx])
        run(["ip", "-n", self.tx, "link", "add", TRANSMITTER, "type", "veth", "peer", "name", RECEIVER, "netns", self.rx])
        for space, interface in [(self.tx, TRANSMITTER), (self.rx, RECEIVER)]:
            self.inside(space, ["sysctl", "-qw", f"net.ipv6.conf.{interface}.disable_ipv6=1"])
            run(["ip", "-n", space, "link", "set", interface, "arp", "off", "up"])
        mask = "0" if receive_cpu is None else f"{1 << receive_cpu:x}"
        self.inside(self.rx, ["sh", "-c", f"echo {mask} > /sys/class/net/{RECEIVER}/queues/rx-0/rps_cpus"])

    @staticmethod
    def inside(space, command):
        return run(["ip", "netns", "exec", space, *command])

    def remove(self):
        for space in [self.tx, self.rx]:
            subprocess.run(["ip", "netns", "del", space], stderr=subprocess.DEVNULL)


def run(command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def cpu_s(pid):
    """CPU time of all threads of a process so far: clock_getcpuclockid(3)."""
    return time.clock_gettime(~pid << 3 | 2)


def wait_until_it_listens(process, name, said):
    """A packet socket of the namespace takes frames, and nothing has changed about it for a while."""
    quiet, before = 0, None
    for _ in range(1000):
        if os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
            said.seek(0)
            raise Failed(f"{name}: {said.read()[-600:]}")
        now = sockets(process.pid)
        quiet = quiet + 1 if now and now == before else 0
        if quiet >= 30:
            return
        before = now
        time.sleep(0.01)
    raise Failed(f"{name} opens no packet socket")


def sockets(pid):
    """Packet sockets in the namespace of the process, in the kernel's words; nothing while it is not there yet."""
    try:
        if os.readlink(f"/proc/{pid}/ns/net") == os.readlink("/proc/self/ns/net"):
            return ""
        return "".join(Path(f"/proc/{pid}/net/packet").read_text().splitlines(True)[1:])
    except OSError:
        return ""
