"""Evidence at work: the index of chunks, searches, bundles with their traces, answers, measurements."""
