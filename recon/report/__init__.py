"""Reports: what an audit found as text, Markdown, a page or JSON; asks nothing."""

__all__ = [
    "audit",
    "correlation_report",
    "document",
    "membership_report",
    "page",
    "report",
    "results",
    "sarif",
    "stored_report",
    "tables_report",
    "wording",
]
