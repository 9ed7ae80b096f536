"""The only place where things happen over time: executions, feeds and the eleven operations over the ports."""
