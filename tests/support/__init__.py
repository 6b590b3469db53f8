"""What tests share, by what it is about."""
