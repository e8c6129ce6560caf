"""Package managers, manifests and lock files."""
