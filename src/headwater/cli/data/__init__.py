"""From options on the command line to programs, rows and databases."""
