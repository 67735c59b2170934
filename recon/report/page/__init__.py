"""The report as a page: what is wrong and what to do, then where, who, what would help, and how it was computed."""
