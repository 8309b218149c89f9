"""What ProveGym costs on this machine, measured."""
