"""Statements over many rows: a list or a table of values is one parameter, so one statement serves a whole batch.

The text of such a statement does not depend on the number of values, so both databases keep its plan.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql


def among(dialect: str, column: sa.ColumnElement[Any], name: str) -> sa.ColumnElement[bool]:
    """Return the condition that a column has one of the values in the parameter ``name``, a list."""
    if dialect == "postgresql":
        return column == sa.any_(sa.bindparam(name, type_=postgresql.ARRAY(column.type)))
    each = sa.func.json_each(sa.bindparam(name, type_=sa.JSON)).table_valued("value")
    return column.in_(sa.select(each.c.value))


def rows_of(dialect: str, name: str, columns: dict[str, sa.types.TypeEngine[Any]]) -> sa.FromClause:
    """Return a table of the rows in the parameter ``name``, a list of dictionaries with these columns."""
    given = sa.bindparam(name, type_=sa.JSON)
    typed = [sa.column(column, kind) for column, kind in columns.items()]
    if dialect == "postgresql":
        table = sa.func.json_to_recordset(given).table_valued(*typed, name=name)
        return table.render_derived(name=name, with_types=True)
    each = sa.func.json_each(given).table_valued("value")
    values = [sa.func.json_extract(each.c.value, f"$.{column.name}", type_=column.type) for column in typed]
    return sa.select(*(value.label(column.name) for value, column in zip(values, typed, strict=True))).subquery(name)
