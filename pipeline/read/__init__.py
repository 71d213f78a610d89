"""Readers: bytes in, one text and a section tree out, registered by media type."""
