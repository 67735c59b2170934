"""Rule models and optimal trees: imodels, CORELS, pydl8.5, pystreed."""
