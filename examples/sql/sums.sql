-- Does every engine read the same frames? Sums over all results, and of the ledger by place.
-- Tables: trials, ledger. Runs unchanged on DuckDB, Spark, DataFusion, ClickHouse and Polars.
SELECT place, frames, unknown
FROM (
  SELECT 'intended' AS place, SUM(intended) AS frames, 0 AS unknown FROM trials WHERE kept = 'result'
  UNION ALL
  SELECT 'sent' AS place, SUM(sent) AS frames, 0 AS unknown FROM trials WHERE kept = 'result'
  UNION ALL
  SELECT 'received' AS place, SUM(delivered) AS frames, 0 AS unknown FROM trials WHERE kept = 'result'
  UNION ALL
  SELECT place, SUM(COALESCE(frames, 0)) AS frames, SUM(unknown) AS unknown
  FROM (
    SELECT ledger.place AS place, ledger.count AS frames, CASE WHEN ledger.count IS NULL THEN 1 ELSE 0 END AS unknown
    FROM ledger
    JOIN trials ON ledger.run_id = trials.run_id AND ledger.number = trials.number
    WHERE trials.kept = 'result' AND ledger.stream IS NULL
  ) AS booked
  GROUP BY place
) AS sums
ORDER BY place
