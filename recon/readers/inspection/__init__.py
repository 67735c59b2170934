"""What a released file gives away before anything is reconstructed: findings, and a copy without them."""
