"""The words of a report in plain words."""

from __future__ import annotations

GLOSSARY: tuple[tuple[str, str], ...] = (
    ("Possible world",
     "A training set that agrees with everything the file says. The real one is among them; whoever has the file "
     "cannot tell which it is. The fewer there are, the more the file gives away."),
    ("Bit",
     "One yes-or-no question. 10 bits left about a person: to find the row takes ten such questions, as among about "
     "1,000 equally likely rows. 0 bits left: nothing has to be asked, the row is known."),
    ("Bits before, bits left",
     "Before: what is open about a person if nothing but the list of attributes and their values is known. Left: what "
     "is still open for somebody who has the file. Per person they are a mean over the whole data, the order of rows "
     "not counted; of a single group they are about one person in it, and can be more."),
    ("Pinned down exactly",
     "Every attribute of this person has one value in all possible worlds. That row of the training data is known, "
     "though not by name: whoever knows some of its values has the others."),
    ("Group",
     "The rows that end in the same leaf of a tree, are caught by the same rule of a list, or are counted in the same "
     "cell of a table."),
    ("Smallest group",
     "The fewest rows that a group holds. A group of one row is one person. Rules on smallest groups (often 10 or 11 "
     "rows) are the oldest protection of official statistics."),
    ("Class disclosure",
     "A group whose rows all have the same outcome. Whoever knows that somebody is in the group knows the outcome "
     "without knowing which row it is."),
    ("Target disclosure",
     "A number about one person (an income, a dose) that a mean, a total or a median gives away exactly."),
    ("Forced value",
     "A value that everybody in a group has, in every possible world."),
    ("Suppressed cell",
     "A count that was left out or given as a range. Sums of other counts can narrow it down; recovered means that one "
     "count is left."),
    ("Dist_G",
     "The share of the bits that is left, over the whole training set: 1 means that the file says nothing about the "
     "rows, 0 that it gives all of them away. 0.37: of what could be open about the data, 37 % still is."),
    ("Convention",
     "What counts as a different training set. Multiset: the order of rows does not matter. Ordered: it does. "
     "Assigned: rows in order, with the group of each known. Compare figures of one convention only; cite multiset "
     "where nobody can tell rows apart by position."),
    ("At least, at most",
     "A bound that was proved. The true figure is not known exactly, but it is on that side for certain."),
    ("Certain, possible, impossible",
     "Of a given person. Certain: somebody with exactly these values is in the training data, in every possible world. "
     "Impossible: in none. Possible: in some. Outside: a value is none that the attributes allow."),
    ("Certificate",
     "A proof of a statement that a small, separate program checks again. It does not have to trust what searched."),
    ("Confidence",
     "Of noisy counts. At confidence 0.95, the figures hold unless the noise was among the 5 % largest."),
    ("Kind of counts",
     "Exact counts say how many rows there are. Weighted, resampled or noisy ones say less, in ways that the report "
     "names."),
    ("Inconclusive",
     "The audit ended, for want of time or memory, before this was settled. That is not a yes."),
)  # fmt: skip
