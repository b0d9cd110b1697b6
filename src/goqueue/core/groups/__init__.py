"""Consumer groups: members, assignment, offsets."""
