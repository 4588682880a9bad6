"""``python -m coalloc`` is ``coalloc``."""

from coalloc.cli import main

if __name__ == "__main__":
    main()
