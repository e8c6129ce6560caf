"""State of a conversation: session variables, follow-up counts and handler functions."""
