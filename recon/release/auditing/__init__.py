"""The audit: every question an officer asks, asked once, and the true rows beside it."""
