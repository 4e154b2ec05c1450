"""Run the command line: `graphwright`, or `python -m graphwright`."""

import atexit
import gc
import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it with a message also while it is loaded."""
    # What is imported stays, so looking for garbage in it, at the start and at the end, would cost 0.3 s of an answer.
    gc.set_threshold(200_000)
    atexit.register(gc.freeze)
    try:
        from graphwright.cli.app import main as run

        run()
    except OSError as error:  # such as too many open files, while the command line is loaded
        print(f"graphwright: its own files cannot be read: {error}", file=sys.stderr)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        print("graphwright: interrupted. Run the same command again to resume.", file=sys.stderr)
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
