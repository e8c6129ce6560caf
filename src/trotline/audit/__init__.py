"""What happened, remembered: records, and the spool that they wait in."""
