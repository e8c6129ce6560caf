"""What `trotline new` writes: a hook with its test, or a project that has some. The texts are in `templates/`."""
