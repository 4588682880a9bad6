"""Documents: JSON and its errors, validated values, storage, schemas, texts, HTML; nothing here knows what is in it."""
