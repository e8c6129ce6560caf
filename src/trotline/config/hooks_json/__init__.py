"""Read the hooks.json and settings files of all layers."""
