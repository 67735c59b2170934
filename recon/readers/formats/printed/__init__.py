"""What people print: trees and rule lists as text, tables of counts, R objects."""

__all__ = ["corels_text", "count_table", "orange_text", "printed_trees", "rpart_rds", "rpart_text", "written_tables"]
