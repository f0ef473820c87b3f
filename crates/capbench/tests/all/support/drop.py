"""Drops the frames of one EtherType on an interface of this network namespace, until it is killed.

drop.py xdp|tc INTERFACE ETHERTYPE
`xdp`: by a program in generic XDP. `tc`: by a program of tc at ingress (tcx, Linux 6.6), behind the packet sockets.
"""

import ctypes
import os
import platform
import signal
import socket
import struct
import sys

BPF = {"x86_64": 321, "aarch64": 280}[platform.machine()]
PROG_LOAD, LINK_CREATE = 5, 28
# bpf_prog_type, bpf_attach_type, flags of the link (XDP_FLAGS_SKB_MODE), and the verdicts to go on and to drop.
KINDS = {"xdp": (6, 37, 2, 2, 1), "tc": (3, 46, 0, 0, 2)}


def instruction(code, target=0, source=0, offset=0, value=0):
    return struct.pack("<BBhi", code, source << 4 | target, offset, value)


def bpf(command, attributes):
    buffer = ctypes.create_string_buffer(attributes, len(attributes))
    result = ctypes.CDLL(None, use_errno=True).syscall(BPF, command, buffer, len(attributes))
    if result < 0:
        sys.exit(f"bpf: {os.strerror(ctypes.get_errno())}")
    return result


def program(kind, ethertype, passes, drops):
    wanted = socket.htons(ethertype)
    if kind == "xdp":
        # data, data_end of struct xdp_md; a frame without a whole header passes.
        read = [
            instruction(0x61, 2, 1, 0),
            instruction(0x61, 3, 1, 4),
            instruction(0xBF, 4, 2),
            instruction(0x07, 4, value=14),
            instruction(0x2D, 4, 3, 4),
            instruction(0x69, 5, 2, 12),
        ]
    else:
        # protocol of struct __sk_buff.
        read = [instruction(0x61, 5, 1, 16)]
    decide = [
        instruction(0x55, 5, 0, 2, wanted),
        instruction(0xB7, 0, value=drops),
        instruction(0x95),
        instruction(0xB7, 0, value=passes),
        instruction(0x95),
    ]
    return b"".join(read + decide)


def main(kind, interface, ethertype):
    program_type, attach_type, flags, passes, drops = KINDS[kind]
    code = program(kind, int(ethertype, 0), passes, drops)
    instructions, licence = ctypes.create_string_buffer(code, len(code)), ctypes.create_string_buffer(b"GPL")
    head = struct.pack("<IIQQ", program_type, len(code) // 8, ctypes.addressof(instructions), ctypes.addressof(licence))
    loaded = bpf(PROG_LOAD, head.ljust(72, b"\0"))
    link = bpf(LINK_CREATE, struct.pack("<IIII", loaded, socket.if_nametoindex(interface), attach_type, flags).ljust(48, b"\0"))
    print(f"{kind} drops {ethertype} on {interface}", flush=True)
    while link:
        signal.pause()


main(*sys.argv[1:])
