//! The compact protocol of Thrift, in which Parquet writes its footer and the headers of pages (thrift-compact-protocol.md): finds
//! numbers of a struct, and checks that everything in it is as long as it says. Nothing is allocated for what is skipped.

/// Structs in structs. Those of Parquet have up to five levels.
const DEEPEST: u32 = 16;

/// Why octets are no struct.
pub(super) type Malformed = &'static str;
const ENDS_EARLY: Malformed = "a header ends early";
const OTHER_TYPE: Malformed = "a header has a field of another type";

/// What a field has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Flag,
    Octet,
    Number,
    Double,
    Text,
    List,
    Map,
    Struct,
}

impl Kind {
    fn new(code: u8) -> Result<Self, Malformed> {
        match code {
            1 | 2 => Ok(Self::Flag),
            3 => Ok(Self::Octet),
            4..=6 => Ok(Self::Number),
            7 => Ok(Self::Double),
            8 => Ok(Self::Text),
            9 | 10 => Ok(Self::List),
            11 => Ok(Self::Map),
            12 => Ok(Self::Struct),
            _ => Err("a header has a field of an unknown type"),
        }
    }
}

/// Octets that have not been read.
pub(super) struct Reader<'o> {
    octets: &'o [u8],
    at: usize,
}

impl<'o> Reader<'o> {
    pub(super) fn new(octets: &'o [u8]) -> Self {
        Self { octets, at: 0 }
    }

    /// How many octets have been read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The next field of a struct that has `last` before it; `None` at its end.
    pub(super) fn field(&mut self, last: &mut i64) -> Result<Option<Kind>, Malformed> {
        let head = self.octet()?;
        if head == 0 {
            return Ok(None);
        }
        *last = match head >> 4 {
            0 => self.number()?,
            step => *last + i64::from(step),
        };
        if i16::try_from(*last).is_err() {
            return Err("a header has a field with an impossible number");
        }
        Kind::new(head & 0xf).map(Some)
    }

    /// A number of 32 bits in a field of this type.
    pub(super) fn number_in(&mut self, kind: Kind) -> Result<i32, Malformed> {
        let number = if kind == Kind::Number { self.number()? } else { return Err(OTHER_TYPE) };
        i32::try_from(number).map_err(|_| "a header has a number of more than 32 bits")
    }

    /// Checks that a field has the type that it has in Parquet: the library does not look at it.
    pub(super) fn require(found: Kind, expected: Kind) -> Result<(), Malformed> {
        if found == expected { Ok(()) } else { Err(OTHER_TYPE) }
    }

    /// A number of any size.
    pub(super) fn number(&mut self) -> Result<i64, Malformed> {
        let coded = self.unsigned()?;
        Ok((coded >> 1) as i64 ^ -((coded & 1) as i64))
    }

    /// The elements of a list, which follow. There are no more of them than octets.
    pub(super) fn list(&mut self) -> Result<(usize, Kind), Malformed> {
        let head = self.octet()?;
        let size = match head >> 4 {
            15 => self.unsigned()?,
            size => u64::from(size),
        };
        Ok((self.length(size)?, Kind::new(head & 0xf)?))
    }

    /// Skips the value of a field.
    pub(super) fn skip(&mut self, kind: Kind) -> Result<(), Malformed> {
        // The value of a flag is in the type of its field.
        if kind == Kind::Flag { Ok(()) } else { self.skip_value(kind, 0) }
    }

    fn skip_value(&mut self, kind: Kind, depth: u32) -> Result<(), Malformed> {
        if depth > DEEPEST {
            return Err("a header has too many structs in structs");
        }
        match kind {
            Kind::Flag | Kind::Octet => self.skip_octets(1),
            Kind::Number => self.unsigned().map(|_| ()),
            Kind::Double => self.skip_octets(8),
            Kind::Text => {
                let size = self.unsigned()?;
                let length = self.length(size)?;
                self.skip_octets(length)
            }
            Kind::List => {
                let (size, kind) = self.list()?;
                (0..size).try_for_each(|_| self.skip_value(kind, depth + 1))
            }
            Kind::Map => self.skip_map(depth),
            Kind::Struct => self.skip_struct(depth),
        }
    }

    fn skip_map(&mut self, depth: u32) -> Result<(), Malformed> {
        let size = self.unsigned()?;
        let size = self.length(size)?;
        if size == 0 {
            return Ok(());
        }
        let kinds = self.octet()?;
        let (key, value) = (Kind::new(kinds >> 4)?, Kind::new(kinds & 0xf)?);
        for _ in 0..size {
            self.skip_value(key, depth + 1)?;
            self.skip_value(value, depth + 1)?;
        }
        Ok(())
    }

    fn skip_struct(&mut self, depth: u32) -> Result<(), Malformed> {
        let mut last = 0;
        while let Some(kind) = self.field(&mut last)? {
            if kind != Kind::Flag {
                self.skip_value(kind, depth + 1)?;
            }
        }
        Ok(())
    }

    fn octet(&mut self) -> Result<u8, Malformed> {
        let octet = *self.octets.get(self.at).ok_or(ENDS_EARLY)?;
        self.at += 1;
        Ok(octet)
    }

    fn unsigned(&mut self) -> Result<u64, Malformed> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let octet = self.octet()?;
            number |= u64::from(octet & 0x7f) << shift;
            if octet < 0x80 {
                return Ok(number);
            }
        }
        Err("a header has a number of more than 64 bits")
    }

    /// A number of octets or elements, which the rest must have.
    fn length(&self, size: u64) -> Result<usize, Malformed> {
        let rest = self.octets.len() - self.at;
        usize::try_from(size)
            .ok()
            .filter(|size| *size <= rest)
            .ok_or("a header says that it is longer than it is")
    }

    fn skip_octets(&mut self, count: usize) -> Result<(), Malformed> {
        self.at += self.length(count as u64)?;
        Ok(())
    }
}
