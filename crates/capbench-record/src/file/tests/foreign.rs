//! Files as others may write them: either order of octets, every kind of block. Written from the draft, without the encoder.

/// A file in the making.
pub(in crate::file) struct Foreign {
    big: bool,
    pub(in crate::file) octets: Vec<u8>,
}

impl Foreign {
    pub(in crate::file) fn new(big: bool) -> Self {
        Self { big, octets: Vec::new() }
    }

    /// A number of 2, 4 or 8 octets.
    pub(in crate::file) fn number<const N: usize>(&self, value: u64) -> [u8; N] {
        let octets = value.to_le_bytes();
        let mut number: [u8; N] = octets[..N].try_into().unwrap();
        if self.big {
            number.reverse();
        }
        number
    }

    pub(in crate::file) fn words(&self, words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|&word| self.number::<4>(word.into())).collect()
    }

    pub(in crate::file) fn option(&self, code: u16, value: &[u8]) -> Vec<u8> {
        let head = [self.number::<2>(code.into()), self.number::<2>(value.len() as u64)].concat();
        padded(&[&head, value].concat())
    }

    /// A custom option of the enterprise number that is for examples.
    pub(in crate::file) fn custom(&self, code: u16, value: &[u8]) -> Vec<u8> {
        self.option(code, &[&self.words(&[32473])[..], value].concat())
    }

    pub(in crate::file) fn block(&mut self, kind: u32, body: &[u8]) -> &mut Self {
        let length = self.number::<4>(body.len().next_multiple_of(4) as u64 + 12);
        let block = [&self.number::<4>(kind.into())[..], &length, &padded(body), &length].concat();
        self.octets.extend(block);
        self
    }

    /// As [`Foreign::block`], for the end of a chain.
    pub(in crate::file) fn add(&mut self, kind: u32, body: &[u8]) {
        self.block(kind, body);
    }

    pub(in crate::file) fn section(&mut self, options: &[u8]) -> &mut Self {
        let version = [self.number::<2>(1), self.number::<2>(0)].concat();
        let body = [&self.words(&[0x1a2b_3c4d])[..], &version, &[0xff; 8], options].concat();
        self.block(0x0a0d_0d0a, &body)
    }

    pub(in crate::file) fn interface(&mut self, link: u16, snap: u32, options: &[u8]) -> &mut Self {
        let link = [self.number::<2>(link.into()), [0; 2]].concat();
        self.block(1, &[&link[..], &self.words(&[snap]), options].concat())
    }

    pub(in crate::file) fn enhanced(
        &mut self,
        interface: u32,
        time: u64,
        data: &[u8],
        original: u32,
        options: &[u8],
    ) -> &mut Self {
        let head = [interface, (time >> 32) as u32, time as u32, data.len() as u32, original];
        self.block(6, &[&self.words(&head)[..], &padded(data), options].concat())
    }
}

fn padded(octets: &[u8]) -> Vec<u8> {
    let mut octets = octets.to_vec();
    octets.resize(octets.len().next_multiple_of(4), 0);
    octets
}

/// A file with every kind of block and option that the reader knows, and some that it does not.
pub(in crate::file) fn example(big: bool) -> Vec<u8> {
    let mut file = Foreign::new(big);
    let number8 = |file: &Foreign, value: u64| file.number::<8>(value);
    let end = [0; 4];
    let options = [
        file.option(2, b"machine"),
        file.option(3, b"system"),
        file.option(4, b"program\0\0"),
        file.option(1, b"made by hand"),
        file.option(2988, &[0, 0, 0, 9, b'x']),
        end.to_vec(),
    ];
    file.section(&options.concat());
    let options = [
        file.option(2, b"eth0"),
        file.option(3, b"the first"),
        file.option(6, &[2, 0, 0, 0, 0, 1]),
        file.option(8, &number8(&file, 10_000_000_000)),
        file.option(9, &[9]),
        file.option(11, b"\0udp port 9"),
        file.option(12, b"Linux"),
        file.option(14, &number8(&file, 5)),
        file.option(15, b"card"),
        end.to_vec(),
    ];
    file.interface(1, 96, &options.concat());
    let instruction = [&file.number::<2>(6)[..], &[0, 0], &file.number::<4>(96)].concat();
    let options = [
        file.option(2, b"eth1"),
        file.option(9, &[0x8a]),
        file.option(11, &[&[1], &instruction[..]].concat()),
    ];
    // Without an end of options.
    file.interface(1, 0, &options.concat());
    let options = [
        file.option(2, &file.number::<4>(0x0000_0401)),
        file.option(3, &[5, 1, 2, 3, 4]),
        file.option(3, &[2, 9, 9, 9, 9]),
        file.option(4, &number8(&file, 7)),
        file.option(5, &number8(&file, 1)),
        file.option(6, &file.number::<4>(3)),
        file.option(1, b"look here"),
        end.to_vec(),
    ];
    file.enhanced(0, 1_000_000_007, &[1, 2, 3], 60, &options.concat());
    file.enhanced(1, 1025, &[4; 8], 8, &[]);
    // Names, a secret, a block of somebody's own.
    file.block(4, &[0; 4]).block(10, &[0; 8]).block(0x8000_0001, &[1; 40]);
    let spoken = [&file.words(&[100])[..], &[5; 96]].concat();
    file.block(3, &spoken);
    // An old packet: interface and drops in 16 bits each.
    for drops in [9, 0xffff] {
        let ids = [file.number::<2>(1), file.number::<2>(drops)].concat();
        let old = [
            &ids[..],
            &file.words(&[0, 2048, 5, 70]),
            &padded(&[6; 5]),
            &file.option(2, &file.number::<4>(2)),
        ];
        let old = old.concat();
        file.block(2, &old);
    }
    let time = |file: &Foreign, high: u32, low: u32| file.words(&[high, low]);
    let statistics = [
        file.words(&[0, 0, 3_000_000_000]),
        file.option(2, &time(&file, 0, 1_000_000_000)),
        file.option(3, &time(&file, 1, 0)),
        file.option(4, &number8(&file, 100)),
        file.option(5, &number8(&file, 1)),
        file.option(6, &number8(&file, 90)),
        file.option(7, &number8(&file, 2)),
        file.option(8, &number8(&file, 88)),
        file.option(1, b"all of it"),
        end.to_vec(),
    ];
    let statistics = statistics.concat();
    file.block(5, &statistics);
    file.octets
}

/// A pcap file of two frames.
pub(in crate::file) fn pcap_example(big: bool, magic: u32) -> Vec<u8> {
    let mut file = Foreign::new(big);
    let version = [file.number::<2>(2), file.number::<2>(4)].concat();
    file.octets = [file.words(&[magic]), version, file.words(&[0, 0, 65535, 1])].concat();
    for octets in [[1, 2, 3, 4], [5, 6, 7, 8]] {
        let record = [&file.words(&[10, 7, 4, 60])[..], &octets].concat();
        file.octets.extend(record);
    }
    file.octets
}
