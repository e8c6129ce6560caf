"""PowerShell, cmd and Windows programs."""
