"""What a job gives: outputs with their citations resolved through the current layout, exports, manifests."""
