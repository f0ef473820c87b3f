//! A frame's octets as they were on the wire: with the VLAN tag that the NIC or the kernel removed (IEEE 802.1Q: after the two
//! addresses). The tag is inserted while copying; the captured octets stay unchanged.

use capbench_sys::packet::{Frame, VlanTag};

/// Octets of the two addresses before a tag.
const ADDRESSES: usize = 12;
/// Octets of a tag: protocol identifier and control information.
const TAG: usize = 4;

/// How to copy a frame into a record.
#[derive(Clone, Copy)]
pub(super) struct FrameCopy<'a> {
    data: &'a [u8],
    tag: Option<[u8; TAG]>,
    /// Octets in the record.
    pub(super) captured: usize,
    /// Octets on the wire, as the frame reports.
    pub(super) original: u32,
}

impl<'a> FrameCopy<'a> {
    /// Limits the frame to this many octets.
    #[inline(always)]
    pub(super) fn new(frame: &Frame<'a>, snap: usize) -> Self {
        let data = frame.data;
        let (tag, there, wire) = match frame.vlan {
            None => (None, data.len(), frame.wire_length),
            // A frame that was cut within the addresses has no room for the tag.
            Some(tag) => {
                let within = data.len() >= ADDRESSES;
                let there = if within { data.len() + TAG } else { data.len() };
                (within.then(|| octets(tag)), there, frame.wire_length.saturating_add(TAG as u32))
            }
        };
        let captured = there.min(snap);
        Self { data, tag, captured, original: wire }
    }

    /// Copies the octets to `to`, whose length is exactly the captured length.
    #[inline(always)]
    pub(super) fn copy(&self, to: &mut [u8]) {
        match self.tag {
            None => to.copy_from_slice(&self.data[..self.captured]),
            Some(tag) if self.captured >= ADDRESSES + TAG => {
                to[..ADDRESSES].copy_from_slice(&self.data[..ADDRESSES]);
                to[ADDRESSES..ADDRESSES + TAG].copy_from_slice(&tag);
                to[ADDRESSES + TAG..].copy_from_slice(&self.data[ADDRESSES..self.captured - TAG]);
            }
            Some(tag) => self.copy_cut(tag, to),
        }
    }

    /// The frame is cut within the tag, or before it.
    #[cold]
    fn copy_cut(&self, tag: [u8; TAG], to: &mut [u8]) {
        let all = self.data[..ADDRESSES].iter().chain(&tag);
        to.iter_mut().zip(all).for_each(|(to, octet)| *to = *octet);
    }
}

/// The tag in network byte order.
#[inline]
fn octets(tag: VlanTag) -> [u8; TAG] {
    let ([a, b], [c, d]) = (tag.tpid.to_be_bytes(), tag.tci.to_be_bytes());
    [a, b, c, d]
}

#[cfg(test)]
mod tests {
    use capbench_sys::packet::{Frame, PacketType, VlanTag};
    use proptest::prelude::*;

    use super::FrameCopy;

    fn frame(data: &[u8], wire_length: u32, vlan: Option<VlanTag>) -> Frame<'_> {
        Frame { data, wire_length, time_ns: 0, vlan, packet_type: PacketType::Host, hash: None, status: 0 }
    }

    fn copy(frame: &Frame<'_>, snap: usize) -> (Vec<u8>, u32) {
        let copy = FrameCopy::new(frame, snap);
        let mut to = vec![0xee; copy.captured];
        copy.copy(&mut to);
        (to, copy.original)
    }

    proptest! {
        #[test]
        fn a_tag_follows_the_addresses_and_the_snap_length_cuts_after_it(
            data in prop::collection::vec(any::<u8>(), 0..80),
            more in 0u32..2000,
            tag in any::<(u16, u16)>(),
            snap in 1usize..100,
        ) {
            let wire = data.len() as u32 + more;
            let plain = copy(&frame(&data, wire, None), snap);
            prop_assert_eq!(&plain, &(data[..data.len().min(snap)].to_vec(), wire));

            let vlan = VlanTag { tpid: tag.0, tci: tag.1 };
            let (octets, original) = copy(&frame(&data, wire, Some(vlan)), snap);
            let mut whole = data.clone();
            if data.len() >= 12 {
                whole.splice(12..12, [tag.0.to_be_bytes(), tag.1.to_be_bytes()].concat());
            }
            whole.truncate(snap);
            prop_assert_eq!((octets, original), (whole, wire + 4));
        }
    }

    #[test]
    fn lengths_are_those_of_the_frame() {
        assert_eq!(
            copy(&frame(&[1; 60], 20, None), 100),
            (vec![1; 60], 20),
            "also one below the captured length"
        );
        let vlan = Some(VlanTag { tpid: 0x8100, tci: 5 });
        assert_eq!(copy(&frame(&[1; 60], u32::MAX, vlan), 20).1, u32::MAX);
    }
}
