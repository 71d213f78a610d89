"""The process supervisor behind `octavo up`: starts what is missing, watches it, stops it in order."""
