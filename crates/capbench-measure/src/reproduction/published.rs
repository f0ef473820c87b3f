//! The published tables as data: what stands in `published/*.csv`, number by number.

/// A published table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The name of its file, without `.csv`.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! data {
    ($($constant:ident = $name:literal),+ $(,)?) => {
        $(
            #[doc = concat!("`", $name, ".csv`")]
            pub const $constant: Data = Data { name: $name, text: include_str!(concat!("published/", $name, ".csv")) };
        )+
        /// All of them.
        pub const ALL: &[Data] = &[$($constant),+];
    };
}

data! {
    DAIN_45KPPS = "dain-2004-libpcap-45kpps",
    DAIN_167KPPS = "dain-2004-libpcap-vs-mmap-167kpps",
    DERI = "deri-2004-fraction-captured",
    CESNET_1 = "cesnet-2008-table1-best-effort-szedata2",
    CESNET_2 = "cesnet-2008-table2-best-effort-pf_ring",
    CESNET_3 = "cesnet-2008-table3-best-effort-linux-stack",
    CESNET_4 = "cesnet-2008-table4-rfc2544-printed-as-szedata2",
    CESNET_5 = "cesnet-2008-table5-rfc2544-pf_ring",
    CESNET_6 = "cesnet-2008-table6-rfc2544-linux-stack",
    CESNET_7 = "cesnet-2008-table7-imix-load",
    LOKE = "loke-2011-tpacket-v1-vs-v3",
}

impl Data {
    /// Names of its columns.
    pub fn columns(self) -> Vec<&'static str> {
        self.text.lines().next().map_or_else(Vec::new, |head| head.split(',').collect())
    }

    /// Its rows, field by field, without the head.
    pub fn rows(self) -> Vec<Vec<&'static str>> {
        self.text
            .lines()
            .skip(1)
            .filter(|line| !line.is_empty())
            .map(|line| line.split(',').collect())
            .collect()
    }

    /// A field as it was published; `None` where there is none.
    pub fn text(self, row: usize, column: &str) -> Option<&'static str> {
        let column = self.columns().iter().position(|known| *known == column)?;
        self.rows().get(row)?.get(column).copied()
    }

    /// A number; `None` where the table has none.
    pub fn number(self, row: usize, column: &str) -> Option<f64> {
        self.text(row, column)?.parse().ok()
    }

    /// A number times a power of ten; `None` where the table has none. The power is read with the digits, since a product is
    /// another number: 12.3 * 0.01, and 12.3 / 100 too, is 0.12300000000000001.
    pub fn scaled(self, row: usize, column: &str, power: i32) -> Option<f64> {
        format!("{}e{power}", self.text(row, column)?).parse().ok()
    }

    /// A column of numbers, a value a row.
    pub fn numbers(self, column: &str) -> Vec<Option<f64>> {
        self.all_scaled(column, 0)
    }

    /// A column of numbers times a power of ten, a value a row.
    pub fn all_scaled(self, column: &str, power: i32) -> Vec<Option<f64>> {
        (0..self.rows().len()).map(|row| self.scaled(row, column, power)).collect()
    }

    /// The row whose first field is this.
    pub fn row(self, label: &str) -> Option<usize> {
        self.rows().iter().position(|row| row.first() == Some(&label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_is_read_as_a_reader_of_csv_reads_it() {
        for data in ALL {
            let mut reader = csv::Reader::from_reader(data.text.as_bytes());
            assert_eq!(reader.headers().unwrap().iter().collect::<Vec<_>>(), data.columns(), "{}", data.name);
            let rows: Vec<Vec<String>> =
                reader.records().map(|row| row.unwrap().iter().map(String::from).collect()).collect();
            assert_eq!(rows, data.rows(), "{}", data.name);
            assert!(rows.len() >= 2, "{}", data.name);
        }
    }

    #[test]
    fn numbers_have_their_places() {
        assert_eq!(DAIN_45KPPS.number(6, "fraction_captured"), Some(0.81));
        assert_eq!(LOKE.number(0, "queue_blocked_count"), None);
        assert_eq!(
            DERI.row("linux-2.4-libpcap").and_then(|row| DERI.number(row, "fraction_captured")),
            Some(0.002)
        );
        assert_eq!(CESNET_7.number(0, "no such column"), None);
        assert_eq!(CESNET_1.numbers("frame_bytes").len(), 13);
        assert_eq!(CESNET_1.scaled(1, "app_load_pct", -2), Some(0.123));
        assert_eq!(CESNET_2.scaled(8, "other_cpu_gbps", 9), Some(757e6));
        assert_eq!(LOKE.scaled(0, "queue_blocked_count", 0), None);
    }
}
