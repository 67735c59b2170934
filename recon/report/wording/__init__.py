"""The findings in words and as JSON: counts, groups, noise, truth, where everything was read from."""
