"""Figures of the report: functions from tables to a matplotlib Figure."""
