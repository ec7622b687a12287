"""The audit: plan, stages, runner, preflight and the ``Audit`` object. ``likewise.audit(...)`` runs one."""

from likewise.runtime.callable_module import make_callable

make_callable(__name__, "likewise.audit.api:audit")
