"""The web page: `built` is made from `src` by `make page`, and is all that a user needs of it."""
