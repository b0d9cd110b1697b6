"""Records that become visible later: until when, and what happens to them meanwhile."""
