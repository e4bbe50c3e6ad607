"""How a network runs: inside Python or as a cached C++ program; recordings; the twins' adapter."""
