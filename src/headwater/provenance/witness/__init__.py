"""Proofs, read off the witnesses that the engine stores."""
