"""What happened, judged again: by what is in force, by a candidate, or as another host would be answered."""
