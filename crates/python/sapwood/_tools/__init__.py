"""What functions of the package do with whole files: merging, rewriting, checking, packing."""
