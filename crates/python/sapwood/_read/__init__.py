"""From files to arrays."""
