"""Small mistakes planted in `src`, one at a time, to see which of them the tests do not notice: `make mutants`."""
