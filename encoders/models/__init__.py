"""What was released, before it becomes statements."""
