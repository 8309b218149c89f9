"""Access to sessions: in this process, over MCP (stdio or HTTP), and over an HTTP control API."""
