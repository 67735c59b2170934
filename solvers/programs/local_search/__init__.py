"""One world by local search: rows moved from region to region until every statement holds, then to likelier worlds."""

__all__ = ["finding"]
