"""Rule models and optimal trees: imodels, CORELS, pydl8.5, pystreed."""

__all__ = ["corels_saved", "plain_values", "streed"]
