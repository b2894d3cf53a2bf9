"""What a committed batch writes for its users: changes, current tables, rows set aside."""
