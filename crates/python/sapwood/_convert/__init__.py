"""Conversion between ROOT files and other formats, for :func:`sapwood.convert`."""
