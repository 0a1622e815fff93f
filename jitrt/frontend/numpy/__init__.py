"""NumPy as a traced function sees it: arrays that record, and what is left to NumPy itself."""
