"""What a released file gives away before anything is reconstructed: findings, and a copy without them."""

__all__ = ["findings", "inspecting", "ledger", "ledgers", "objects", "searching", "stripping"]
