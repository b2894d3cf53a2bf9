"""The Spark session and its workers: starting, encryption, temporary folders, failures."""
