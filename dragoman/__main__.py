"""`python -m dragoman` is the program `dragoman`."""

from dragoman.cli.main import main

if __name__ == "__main__":
    main()
