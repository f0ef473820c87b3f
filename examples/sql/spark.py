"""Runs an SQL file of this folder on Spark over a dataset of any size.

Usage: spark.py DATASET FILE.sql [--master URL]     DATASET: a folder, or an address that Spark reads (s3a://bucket/fleet)
"""

import argparse
import pathlib
import re

TABLES = ["trials", "ledger", "searches", "rankings", "hosts"]


def session(master=None):
    """A session on a cluster, or on this host."""
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("capbench").config("spark.ui.enabled", "false")
    # Days of the partitions are text, as in other engines; files of older versions may lack columns.
    builder = builder.config("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    builder = builder.config("spark.sql.session.timeZone", "UTC")
    # A file has a few KiB. Spark counts 4 MiB for opening one and would make a task of every 32.
    builder = builder.config("spark.sql.files.openCostInBytes", "65536")
    if master:
        return builder.master(master).getOrCreate()
    # On one host 200 parts, Spark's default, are slower than few. A cluster's own configuration stays.
    return builder.config("spark.sql.shuffle.partitions", "8").getOrCreate()


def rows(dataset, sql, master=None):
    """The rows of a query."""
    spark = session(master)
    for table in (table for table in TABLES if re.search(rf"\b{table}\b", sql)):
        frame = spark.read.option("mergeSchema", "true").parquet(f"{dataset}/{table}")
        # The questions scan a table up to seven times, and many small files are slow to open.
        frame.cache().createOrReplaceTempView(table)
    return [tuple(row) for row in spark.sql(sql).collect()]


def main():
    """Reads the command line and prints the rows."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("dataset")
    flags.add_argument("sql", type=pathlib.Path)
    flags.add_argument("--master", help="Spark's master; that of spark-submit, else local")
    flags = flags.parse_args()
    for row in rows(flags.dataset, flags.sql.read_text(), flags.master):
        print(*row, sep="\t")


if __name__ == "__main__":
    main()
