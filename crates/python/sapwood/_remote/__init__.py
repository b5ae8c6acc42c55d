"""Where files are: paths, URLs and the file systems of fsspec."""
