"""Code that tests share, a package for each subject."""
