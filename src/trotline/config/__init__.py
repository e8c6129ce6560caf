"""Reading configuration: which layers exist, which hooks they hold, and what is wrong with them."""
