"""The store: a folder of Parquet tables, written batch by batch, that Spark and its tasks reach alike."""
