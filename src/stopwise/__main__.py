"""`python -m stopwise`: the command line."""

from stopwise.cli import main

main()
