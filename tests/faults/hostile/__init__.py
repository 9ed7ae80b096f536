"""Hostile inputs against one served agent: each has the refusal that it is to get, and the server goes on as before."""
