"""Erasure of a person from an audit, the ledger of erasures, and retention dates."""
