"""Operating system services: private files, processes and HTTP requests."""
