"""The checkpoint: snapshots, logs and manifests, and the file systems that hold them."""
