"""What time means, in terms of rows and rules: negation that looks back, times that are kept, rows that end."""
