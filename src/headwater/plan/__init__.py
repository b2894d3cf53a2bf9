"""Program to plan: tables, delta rules, join order and indexes."""
