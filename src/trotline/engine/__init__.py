"""The host's seat: an event goes through every hook that applies, and one decision comes back."""
