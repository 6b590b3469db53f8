"""The pipeline on Spark: a store of traces of any size, checked stage by stage, each from tables to tables."""
