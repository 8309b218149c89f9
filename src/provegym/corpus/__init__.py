"""A corpus of examples: selection, deduplication, JSONL files, statistics, export to trainers."""
