"""Trees, branches and RNTuples as the user sees them."""
