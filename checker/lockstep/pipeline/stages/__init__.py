"""The stages of the pipeline, one a module: each takes tables of the store and writes another."""
