"""The rows of a document store: read by object, compared with new documents, edited."""
