"""The engine side: runs every hook that applies to an event, and returns one decision."""
