"""The page that shows worlds, graphs, examples, rollouts and runs, and the server behind it."""
