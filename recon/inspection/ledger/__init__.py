"""The ledger of a file: every object and figure with one status, and what each keeps from being met."""
