"""Adapters for other frameworks: TRL, verifiers, OpenEnv, NeMo Gym, one module each."""
