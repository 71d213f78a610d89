"""Freshness: views, sweeps, schedules, watching, retention."""
