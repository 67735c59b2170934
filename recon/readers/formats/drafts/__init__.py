"""What a file says before a domain is known, and how it is bound to one."""

__all__ = ["binding", "drafts"]
