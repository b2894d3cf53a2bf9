"""`python -m headwater`: the command line, where its script is not on the PATH."""

from headwater.cli.main import main

main()
