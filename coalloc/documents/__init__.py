"""JSON, validated values and arguments, storage, schemas, texts, HTML; nothing here knows what is in a document."""
