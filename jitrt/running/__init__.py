"""Programs as they are, with their own functions compiled: which these are, import hook, scripts, report, IPython."""
