"""Parts that the networks in `models/` share, as Brian objects."""
