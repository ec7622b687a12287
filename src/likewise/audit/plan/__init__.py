"""The plan of an audit: audit.toml, its sections, its migrations, and how it is written."""

from likewise.audit.plan.model import Plan as Plan
