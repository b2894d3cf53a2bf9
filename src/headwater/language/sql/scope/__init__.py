"""What a name in a query stands for, and the rules made so far."""
