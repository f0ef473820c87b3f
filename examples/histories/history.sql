-- The history of one set-up: a row for each date, as examples/histories/otava.yaml reads it. For DuckDB.
--
-- SET VARIABLE dataset = 'DIR', and method, frame_size, placement, intended_pps: the set-up. The load must be the same on all
-- dates: costs at different loads are not comparable. A sample is a run, not a trial: what differs between the trials of a run says
-- nothing about the next run. Each host is compared with itself: a host that is missing on a date does not change the mean.
WITH runs AS (
  SELECT date, host_id, kernel_release,
         median(app_ns_per_packet) AS app_ns,
         median(kernel_ns_per_packet) AS kernel_ns
  FROM read_parquet(getvariable('dataset') || '/trials/v=1/*/*/*.parquet', hive_partitioning => true, union_by_name => true)
  WHERE kept = 'result' AND verdict IN ('lossless', 'lossy')
    AND method = getvariable('method') AND frame_size = getvariable('frame_size')
    AND placement = getvariable('placement') AND intended_pps = getvariable('intended_pps')
  GROUP BY date, host_id, kernel_release, run_id
),
relative AS (
  SELECT date, host_id, kernel_release,
         app_ns / median(app_ns) OVER of_host AS app,
         kernel_ns / median(kernel_ns) OVER of_host AS kernel
  FROM runs
  WINDOW of_host AS (PARTITION BY host_id)
)
SELECT strftime(date, '%Y-%m-%d') AS time,
       string_agg(DISTINCT kernel_release, ' ' ORDER BY kernel_release) AS kernel_release,
       count(DISTINCT host_id) AS hosts,
       -- CPU time per packet in percent of the median of the host.
       100 * avg(app) AS app_percent,
       100 * avg(kernel) AS kernel_percent
FROM relative
GROUP BY date
ORDER BY date;
