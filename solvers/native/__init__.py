"""Native code in threads and processes of its own (it may hang, crash or ask for too much memory), and loops compiled."""
