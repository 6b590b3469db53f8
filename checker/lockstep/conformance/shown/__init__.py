"""What nodes show, held against what the spec says of them."""
