"""The batch job of goals: Parquet and rules in, one view of each person out, by SQL on DuckDB or Spark."""
