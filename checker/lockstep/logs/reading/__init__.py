"""What lines say: files, forms of text, and what a mapping makes of their fields."""
