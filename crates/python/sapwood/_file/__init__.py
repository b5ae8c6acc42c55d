"""Files that are open, and their directories."""
