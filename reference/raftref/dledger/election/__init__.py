"""Elections and transfers of leadership."""
