"""Expressions given as strings: what they may say, and how they are evaluated (`evaluation`)."""
