"""Templates of `trotline new`: a hook with its test, or a project with several. Their texts are in `files/`."""
