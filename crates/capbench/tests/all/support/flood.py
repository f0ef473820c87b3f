"""An agent that says nothing but answers that nobody asked for, of 1 MiB each.

flood.py COUNT
COUNT gets an octet for each that its reader has taken.
"""

import os
import sys

body = b'{"jsonrpc":"2.0","id":0,"result":"%s"}' % (b"a" * (1 << 20))
message = b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
count = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
while True:
    sys.stdout.buffer.write(message)
    sys.stdout.buffer.flush()
    os.write(count, b"x")
