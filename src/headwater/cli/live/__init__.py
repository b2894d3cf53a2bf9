"""Commands that go on: sources of changes that are followed, the terminal view, the changes of a server."""
