"""Questions about the state of a query, running or stopped: by any process that can read its checkpoint."""
