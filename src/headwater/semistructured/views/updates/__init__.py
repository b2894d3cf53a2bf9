"""What an update means to a view: the algorithm of 001, for the reader and for deciding that there is nothing to do."""
