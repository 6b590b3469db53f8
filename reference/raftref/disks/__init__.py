"""What a store asks of a disk, and disks: a folder, and one in memory that can fail."""
