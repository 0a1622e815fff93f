"""What every other part stands on: values with named fields, signals, forks, garbage collection."""
