"""Keys and signatures: what the agent signs with, and how a caller verifies. Cryptography is loaded when it is used."""
