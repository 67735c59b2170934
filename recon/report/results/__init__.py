"""Results of audits read back: of this version, true together as far as is known, held against another policy."""
