"""The web page: routes that answer with HTML made on the server, whole pages and parts for htmx."""
