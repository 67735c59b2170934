"""What people print: trees and rule lists as text, tables of counts, R objects."""
