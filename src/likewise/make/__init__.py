"""Everything that needs pixels: projecting, editing, rating."""
