"""Whole analyses in one pass: names, filters, variations, and results of them."""
