"""What is revealed of persons: bits by attribute, rows and values that are certain, the most exposed one."""
