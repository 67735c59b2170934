"""How much uncertainty a release leaves, over one partition or a coupled system."""
