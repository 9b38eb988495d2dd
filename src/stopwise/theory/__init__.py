"""The paper's theory as functions: problems, exploration plans, regret bounds. No labels."""
