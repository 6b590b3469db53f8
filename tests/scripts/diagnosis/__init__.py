"""The measure of diagnoses: deviations are planted whose rule is known, and counted is how often it is named first."""
