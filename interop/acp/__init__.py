"""Programs of others at the other end of the Agent Client Protocol."""
