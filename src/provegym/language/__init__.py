"""What users and assistants say: dates, things, values, requests, personas and replies."""
