"""Run the command line: `python -m graphwright`."""

from graphwright.cli.app import main

if __name__ == "__main__":
    main()
