"""Evaluation of models: held-out tasks, public benchmarks, and paired comparison of runs."""
