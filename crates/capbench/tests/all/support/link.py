"""Stands between a controller and an agent, and harms their connection.

link.py MARK HOW WHEN COMMAND...
HOW: cut (both ends see the end), hang (nobody sees anything), delay (every message takes a while).
WHEN: CALL:NTH (instead of the answer to the nth call of this name) or CALL:NTH+SECONDS (so long after that call).
Both may have several parts with a slash between them: after the first harm, the next connection has the second part, and so on.
MARK has an octet for each harm. After the last part, connections are whole.
"""

import os
import random
import subprocess
import sys
import threading
import time

mark, how, when = sys.argv[1:4]
done = os.path.getsize(mark) if os.path.exists(mark) else 0
parts = list(zip(how.split("/"), when.split("/"), strict=True))
whole = done >= len(parts)
how, when = parts[min(done, len(parts) - 1)]
call, _, seconds = when.partition("+")
call, _, nth = call.partition(":")
pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
agent = subprocess.Popen(sys.argv[4:], **pipes)
to_agent, from_agent = agent.stdin.fileno(), agent.stdout.fileno()
seen = 0
harmed = threading.Event()


def harm():
    with open(mark, "a") as harms:
        harms.write("x")
    harmed.set()
    if how == "cut":
        os._exit(1)
    if how == "hang" and os.fork() == 0:
        # Holds the agent's ends, so that it sees no end, until it ends by itself.
        os.setsid()
        for file in range(3):
            os.close(file)
        while os.read(from_agent, 1 << 16):
            pass
        os._exit(0)


def passes():
    """Whether a message passes now."""
    if harmed.is_set() and how == "delay":
        time.sleep(random.uniform(0.0, 0.2))
    return not harmed.is_set() or how == "delay"


def to_the_agent():
    global seen
    while octets := os.read(0, 1 << 16):
        if not passes():
            continue
        # Before the agent can answer.
        before, seen = seen, seen + octets.count(b'"method":"%s"' % call.encode())
        os.write(to_agent, octets)
        if seconds and not whole and before < int(nth) <= seen:
            threading.Timer(float(seconds), harm).start()
    if harmed.is_set() and how == "hang":
        os._exit(0)
    agent.stdin.close()


threading.Thread(target=to_the_agent, daemon=True).start()
while octets := os.read(from_agent, 1 << 16):
    if not whole and not seconds and seen >= int(nth) and not harmed.is_set():
        harm()
    if passes():
        os.write(1, octets)
if harmed.is_set() and how == "hang":
    time.sleep(1000)
os._exit(agent.wait() & 255)
