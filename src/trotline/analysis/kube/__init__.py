"""Kubernetes commands and manifests."""
