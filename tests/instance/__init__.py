"""The instance room."""
