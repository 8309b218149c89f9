"""Everything that turns a context into tokens: local models, endpoints, vLLM, KV cache, codec."""
