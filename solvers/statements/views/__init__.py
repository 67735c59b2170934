"""Views of a release: the same statements in another form, with their numbers and sources as they are."""
