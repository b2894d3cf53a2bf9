"""Goal-directed questions: only what one row depends on is worked out."""
