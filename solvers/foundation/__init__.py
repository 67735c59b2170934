"""What everything stands on: errors, limits, exact whole numbers, threads and processes of native code."""
