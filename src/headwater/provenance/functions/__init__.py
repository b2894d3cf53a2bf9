"""Provenance as boolean functions of base facts."""
