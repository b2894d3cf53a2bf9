"""Documents without a fixed schema: JSON and OEM as relations, Lorel views over them as rules."""
