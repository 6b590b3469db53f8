"""Long work: everything at once, fleets of clusters, Spark."""
