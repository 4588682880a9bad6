"""Documents: JSON and its faults, values that are validated, storage, schemas; nothing here knows what is in them."""
