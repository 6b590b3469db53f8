"""Commands, terminals, browsers and pages, as a user has them."""
