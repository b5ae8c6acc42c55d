"""Batches of rows for training."""
