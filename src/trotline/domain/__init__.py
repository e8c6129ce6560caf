"""The domain model. It reads no disk, clock or process."""
