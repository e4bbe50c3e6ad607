"""The networks of the paper, one file each."""
