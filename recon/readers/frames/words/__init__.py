"""How conditions are said to people: thresholds by short decimals, one-hot columns folded; nothing is computed with."""
