"""Exploring a specification on Spark, level by level."""
