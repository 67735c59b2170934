"""Published tables of many areas: read, solved area by area, asked about, proved, told."""
