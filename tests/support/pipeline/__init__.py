"""Stores, clusters of Spark, and folders that are watched."""
