//! Files of a few kilobytes that say they have gigabytes are refused, in little memory.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use capbench_dataset::figures::{self, By};
use capbench_testing::Scratch;
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// Kilobytes of memory that a process may have which reads a dataset.
const MEMORY: u32 = 200_000;
/// The dataset that [`a_dataset_is_read_by_a_process_with_little_memory`] reads.
const DATASET: &str = "CAPBENCH_TEST_DATASET";

type Group<'g> = SerializedRowGroupWriter<'g, File>;

/// A file of this schema, with one row group that `fill` writes.
fn write(path: &Path, schema: &str, fill: impl FnOnce(&mut Group<'_>)) {
    let schema = Arc::new(parse_message_type(&format!("message x {{ {schema} }}")).unwrap());
    let zstd = WriterProperties::builder().set_compression(Compression::ZSTD(Default::default()));
    // A page has any number of rows, so that a bomb is small.
    let properties = zstd
        .set_data_page_size_limit(1 << 30)
        .set_data_page_row_count_limit(usize::MAX)
        .set_dictionary_page_size_limit(1 << 30)
        .build();
    let file = File::create(path).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties)).unwrap();
    let mut group = writer.next_row_group().unwrap();
    fill(&mut group);
    group.close().unwrap();
    writer.close().unwrap();
}

/// The next column: in `times` batches the same values and levels.
fn column<T: DataType>(
    group: &mut Group<'_>,
    times: usize,
    values: &[T::T],
    defined: &[i16],
    repeats: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    for _ in 0..times {
        column.typed::<T>().write_batch(values, Some(defined), repeats).unwrap();
    }
    column.close().unwrap();
}

/// Makes a file.
type Bomb = fn(&Path);

const MANY_ROWS: Bomb = |path| {
    let columns = ["app_ns_per_packet", "delivered_pps"];
    let schema: Vec<String> = columns.iter().map(|name| format!("OPTIONAL DOUBLE {name};")).collect();
    write(path, &schema.concat(), |group| {
        columns.iter().for_each(|_| column::<DoubleType>(group, 1000, &[], &[0; 1000], None));
    });
};

const LONG_TEXT_OF_MANY_ROWS: Bomb = |path| {
    write(path, "OPTIONAL BYTE_ARRAY method (STRING);", |group| {
        let text = ByteArray::from(vec![b'x'; 1 << 20]);
        column::<ByteArrayType>(group, 100, &vec![text; 20], &[1; 20], None);
    });
};

const LARGE_PAGE: Bomb = |path| {
    write(path, "OPTIONAL BYTE_ARRAY command (STRING);", |group| {
        column::<ByteArrayType>(group, 1, &[ByteArray::from(vec![b'x'; 128 << 20])], &[1], None);
    });
};

const LONG_LIST: Bomb = |path| {
    let list =
        "REQUIRED GROUP noise (LIST) { REPEATED GROUP list { REQUIRED BYTE_ARRAY element (STRING); } }";
    write(path, list, |group| {
        const TEXTS: usize = 1_500_000;
        let mut repeats = vec![1; TEXTS];
        repeats[0] = 0;
        column::<ByteArrayType>(group, 1, &vec![ByteArray::from("x"); TEXTS], &[1; TEXTS], Some(&repeats));
    });
};

/// Each file, and why it is refused.
const BOMBS: [(&str, Bomb, &str); 4] = [
    ("rows", MANY_ROWS, "it has 1000000 rows; up to 100000 of a file are read"),
    ("text", LONG_TEXT_OF_MANY_ROWS, "its rows have texts of more than"),
    ("page", LARGE_PAGE, "its columns have more than"),
    ("list", LONG_LIST, "a column has 1500000 values; up to"),
];

#[test]
fn a_dataset_is_read_by_a_process_with_little_memory() {
    // Without a dataset this is not the process that the test below starts.
    let Some(dataset) = std::env::var_os(DATASET) else { return };
    let read = figures::read(Path::new(&dataset), &By::Date);
    println!("{}", read.err().map_or("it was read".into(), |error| error.to_string()));
}

#[test]
fn a_file_that_says_it_has_gigabytes_is_refused_in_little_memory() {
    let scratch = Scratch::new();
    for (name, bomb, refused) in BOMBS {
        let dataset = scratch.file(name);
        let partition = dataset.join("trials/v=1/campaign=none/date=2026-01-01");
        fs::create_dir_all(&partition).unwrap();
        let path = partition.join("a.parquet");
        bomb(&path);
        let octets = fs::metadata(&path).unwrap().len();
        assert!(octets < 300_000, "{name}: {octets}");
        let shell = format!("ulimit -d {MEMORY}; exec \"$@\"");
        let test = "bombs::a_dataset_is_read_by_a_process_with_little_memory";
        let run = Command::new("sh")
            .args(["-c", &shell, "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", test, "--nocapture", "--test-threads", "1"])
            .env(DATASET, &dataset)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && said.contains(refused), "{name}, {octets} octets: {run:?}");
    }
}
