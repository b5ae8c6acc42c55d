"""From values to branches and objects."""
