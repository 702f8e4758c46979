"""`python -m codex_actors` is the same program as `codex-actors`."""

from .cli import main

if __name__ == "__main__":
    main()
