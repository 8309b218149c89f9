"""A teacher model (LLM) that rewrites planned conversations; every result is verified again."""
