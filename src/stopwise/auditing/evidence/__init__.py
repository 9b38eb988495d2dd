"""What disagreement says, and how surely: the sound stage, strong dominance, missing outputs."""
