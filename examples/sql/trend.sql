-- How did the delivered rate at maximum load change over the days, for each method and frame size?
-- Table: trials, with the partition `date`. Runs unchanged on DuckDB, Spark and DataFusion.
SELECT date, method, frame_size, placement, work, COUNT(DISTINCT host_id) AS hosts, COUNT(DISTINCT run_id) AS runs,
  MEDIAN(delivered_pps) AS delivered_pps
FROM trials
WHERE kept = 'result' AND verdict <> 'invalid' AND intended_pps IS NULL
GROUP BY date, method, frame_size, placement, work
ORDER BY method, frame_size, placement, work, date
