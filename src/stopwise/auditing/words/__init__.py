"""The last step of an audit: facts and advice in words and pictures."""
