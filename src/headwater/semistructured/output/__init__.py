"""Documents out: views as objects, as JSON documents, as changes and patches."""
