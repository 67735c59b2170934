"""Objects of stored files that were never built: names, arrays, numbers."""
