"""Natural language from templates: dates, values, user requests, personas, assistant replies."""
