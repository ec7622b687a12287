"""The study database: schema, raters, assignment, export."""
