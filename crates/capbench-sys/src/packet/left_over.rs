//! What is unread in a packet socket of another process: its descriptor is copied while the process runs (pidfd_getfd(2)), and the
//! frames are counted when the process has ended. Nobody reads the socket then, and `PACKET_STATISTICS`, which resets the
//! counters, takes nothing from its owner.

use std::os::fd::{AsFd, RawFd};
use std::time::Duration;

use rustix::net::{RecvFlags, recv};
use rustix::process::{PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

use super::diag::{Blocks, blocks};
use super::socket::{PacketSocket, PacketStatistics, Version};
use super::status::{StatusWord, read_acquire};
use crate::error::{Result, named};
use crate::host::ProcessId;
use crate::memory::Mapping;
use crate::socket_option::PACKET_VERSION;

/// `struct tpacket_block_desc` of linux/if_packet.h: status, number of frames and sequence number of a block.
const STATUS: usize = 8;
const FRAMES: usize = 12;
const SEQUENCE: usize = 24;
const BLOCK_HEADER: usize = 48;

/// Frames in a queue or ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// Their number.
    pub frames: u64,
    /// How many of them may have been read: those of a block of TPACKET_V3 are counted until its owner has read all of them.
    pub uncertain: u64,
}

/// A packet socket of another process.
#[derive(Debug)]
pub struct ForeignSocket {
    socket: PacketSocket,
    ring: Option<Blocks>,
}

impl ForeignSocket {
    /// Copies the descriptor of a process that is the packet socket with this inode.
    ///
    /// # Errors
    /// `EPERM` if this process may not trace the other one (ptrace(2)); `ENOSYS` before Linux 5.6; it has closed the socket.
    pub fn of(process: ProcessId, descriptor: RawFd, inode: u32) -> Result<Self> {
        let attempt = || format!("pidfd_getfd of a packet socket of process {process}");
        let opened = named(pidfd_open(process.pid(), PidfdFlags::empty()), attempt)?;
        let copied = named(pidfd_getfd(opened, descriptor, PidfdGetfdFlags::empty()), attempt)?;
        Ok(Self { socket: PacketSocket::adopt(copied), ring: blocks(inode) })
    }

    /// Time after which the kernel passes on a partly filled block of its ring (TPACKET_V3); `None` without such a ring.
    pub fn retire_timeout(&self) -> Option<Duration> {
        let milliseconds = self.ring?.retire_timeout_ms;
        (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()))
    }

    /// Frames that it accepted and dropped since its owner last read these counters.
    ///
    /// # Errors
    /// It is no packet socket.
    pub fn statistics(&self) -> Result<PacketStatistics> {
        self.socket.take_statistics()
    }

    /// Frames in its queue or ring. Call it when its owner has ended: frames are read from the queue.
    ///
    /// # Errors
    /// The ring cannot be mapped, or the socket not be read.
    pub fn unread(&self) -> Result<Unread> {
        let Some(ring) = self.ring else {
            return Ok(Unread { frames: self.read_queue()?, uncertain: 0 });
        };
        let length = ring.size as usize * ring.count as usize;
        let map = Mapping::of_file(self.socket.as_fd(), length, 0, "a packet ring of another process")?;
        let version: i32 = PACKET_VERSION.get(&self.socket.as_fd())?;
        Ok(match version {
            version if version == Version::V3 as i32 => frames_in_blocks(&map, ring),
            version => frames_in_slots(&map, ring, version == Version::V1 as i32),
        })
    }

    fn read_queue(&self) -> Result<u64> {
        let mut frames = 0;
        loop {
            // With no buffer the kernel discards the frame.
            match recv(&self.socket, &mut [0u8; 0], RecvFlags::DONTWAIT | RecvFlags::TRUNC) {
                Ok(_) => frames += 1,
                Err(rustix::io::Errno::AGAIN) => return Ok(frames),
                // A state of the interface, which the kernel reports once.
                Err(rustix::io::Errno::NETDOWN | rustix::io::Errno::INTR) => {}
                Err(error) => {
                    return named(Err(error), || "reading a packet socket of another process".into());
                }
            }
        }
    }
}

/// Frames in the blocks that belong to user space, and in the one that the kernel fills: the last in sequence.
fn frames_in_blocks(map: &Mapping, ring: Blocks) -> Unread {
    let mut unread = Unread::default();
    let mut last = (0, 0);
    for block in 0..ring.count as usize {
        let Some(start) = map.at(block * ring.size as usize, BLOCK_HEADER) else { continue };
        // SAFETY: the header is inside the mapping, whose blocks are aligned to pages; the kernel writes these words as a whole.
        let (status, count, sequence) = unsafe {
            (
                read_acquire(StatusWord::Int(start.add(STATUS).cast())),
                u64::from(start.add(FRAMES).cast::<u32>().read_volatile()),
                start.add(SEQUENCE).cast::<u64>().read_volatile(),
            )
        };
        let is_ours = status & libc::TP_STATUS_USER != 0;
        if is_ours {
            unread.frames += count;
            unread.uncertain = unread.uncertain.max(count);
        }
        if sequence > last.0 {
            last = (sequence, if is_ours { 0 } else { count });
        }
    }
    unread.frames += last.1;
    unread
}

/// Slots that belong to user space.
fn frames_in_slots(map: &Mapping, ring: Blocks, is_long: bool) -> Unread {
    let slots_of_block = (ring.frames / ring.count.max(1)).max(1) as usize;
    let mut frames = 0;
    for slot in 0..ring.frames as usize {
        let (block, nth) = (slot / slots_of_block, slot % slots_of_block);
        let Some(start) = map.at(block * ring.size as usize + nth * ring.frame_size as usize, 8) else {
            continue;
        };
        let word = if is_long { StatusWord::Long(start.cast()) } else { StatusWord::Int(start.cast()) };
        // SAFETY: the word is inside the mapping, and slots are aligned to TPACKET_ALIGNMENT.
        frames += u64::from(unsafe { read_acquire(word) } & libc::TP_STATUS_USER != 0);
    }
    Unread { frames, uncertain: 0 }
}
