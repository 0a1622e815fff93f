"""Scheduling: which operations share a loop nest, and what the nests look like."""
