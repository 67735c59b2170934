"""Reports: what an audit found as text, Markdown, a page or JSON; asks nothing."""
