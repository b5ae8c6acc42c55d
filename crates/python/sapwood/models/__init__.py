"""Objects of ROOT's classes, with the methods that uproot's have."""
