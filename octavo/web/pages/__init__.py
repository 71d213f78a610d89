"""The pages: made on the server, whole without scripts, live with them."""
