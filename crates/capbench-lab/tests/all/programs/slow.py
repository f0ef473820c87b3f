"""A program that reads slowly from a packet socket, and says nothing about what the socket had no room for:
slow.py INTERFACE FILE LIMIT SECONDS. It takes SECONDS for each frame, and stops reading after LIMIT frames."""
import signal
import socket
import struct
import sys
import time

interface, name, limit, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
packets = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
packets.bind((interface, 3))
with open(name, "wb") as file:
    file.write(struct.pack("=IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
    try:
        for _ in range(limit):
            frame = packets.recv(65535)
            file.write(struct.pack("=IIII", 0, 0, len(frame), len(frame)) + frame)
            time.sleep(seconds)
        signal.pause()
    except KeyboardInterrupt:
        pass
