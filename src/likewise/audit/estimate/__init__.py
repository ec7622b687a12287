"""The estimates of an audit, by kind."""
