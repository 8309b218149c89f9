"""Where worlds are reached: in this process, over MCP, and over a plain HTTP control API."""
