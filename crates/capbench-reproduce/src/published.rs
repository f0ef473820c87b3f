//! The published tables, each number with its place in its file.

/// A published table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// The name of its file, without `.csv`.
    pub name: &'static str,
    text: &'static str,
}

macro_rules! data {
    ($($name:literal),+ $(,)?) => {
        /// All tables.
        pub const ALL: &[Data] =
            &[$(Data { name: $name, text: include_str!(concat!("published/", $name, ".csv")) }),+];
    };
}

data! {
    "dain-2004-libpcap-45kpps",
    "dain-2004-libpcap-vs-mmap-167kpps",
    "deri-2004-fraction-captured",
    "cesnet-2008-table1-best-effort-szedata2",
    "cesnet-2008-table2-best-effort-pf_ring",
    "cesnet-2008-table3-best-effort-linux-stack",
    "cesnet-2008-table4-rfc2544-printed-as-szedata2",
    "cesnet-2008-table5-rfc2544-pf_ring",
    "cesnet-2008-table6-rfc2544-linux-stack",
    "cesnet-2008-table7-imix-load",
    "loke-2011-tpacket-v1-vs-v3",
}

impl Data {
    /// The table of this name.
    pub fn named(name: &str) -> Option<Self> {
        ALL.iter().copied().find(|data| data.name == name)
    }

    /// Names of its columns.
    pub fn columns(self) -> Vec<&'static str> {
        self.text.lines().next().map_or_else(Vec::new, |head| head.split(',').collect())
    }

    /// Its rows as fields, without the header.
    pub fn rows(self) -> Vec<Vec<&'static str>> {
        self.text
            .lines()
            .skip(1)
            .filter(|line| !line.is_empty())
            .map(|line| line.split(',').collect())
            .collect()
    }

    /// The number in this column of the row that begins with `label`, times a power of ten, parsed together: a product is
    /// inexact (12.3 * 0.01 and 12.3 / 100 are 0.12300000000000001).
    pub fn scaled(self, label: &str, column: &str, power: i32) -> Option<f64> {
        let column = self.columns().iter().position(|known| *known == column)?;
        let row = self.rows().into_iter().find(|row| row.first() == Some(&label))?;
        format!("{}e{power}", row.get(column)?).parse().ok()
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
        let scaled = |name, label, column, power| Data::named(name).unwrap().scaled(label, column, power);
        assert_eq!(scaled("dain-2004-libpcap-45kpps", "3000", "fraction_captured", 0), Some(0.81));
        assert_eq!(
            scaled("deri-2004-fraction-captured", "linux-2.4-libpcap", "fraction_captured", 0),
            Some(0.002)
        );
        assert_eq!(scaled("cesnet-2008-table7-imix-load", "pf_ring", "no such column", 0), None);
        assert_eq!(
            scaled("cesnet-2008-table1-best-effort-szedata2", "1319", "app_load_pct", -2),
            Some(0.123)
        );
        assert_eq!(scaled("cesnet-2008-table2-best-effort-pf_ring", "256", "other_cpu_gbps", 9), Some(757e6));
        assert_eq!(scaled("loke-2011-tpacket-v1-vs-v3", "tpacket_v1", "queue_blocked_count", 0), None);
        assert_eq!(scaled("loke-2011-tpacket-v1-vs-v3", "tpacket_v2", "received", 0), None);
        assert_eq!(Data::named("loke-2011"), None);
    }
}
