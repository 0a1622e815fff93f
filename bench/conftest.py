"""The scripts that fit and list the vector mathematics are no tests."""

collect_ignore_glob = ["vmath_*.py"]
