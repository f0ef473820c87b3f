//! AF_PACKET sockets and the rings that they share with the kernel.
