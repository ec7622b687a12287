"""Changes between two audits: two versions of a system on the same units, or one system on two data sets."""
