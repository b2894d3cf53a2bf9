"""Why a row is there, and why another is not."""
