"""What the tests share: ROOT in a process of its own, servers, readers, files and comparisons."""
