"""Stream names: under which streams the state machines of a broker keep their events, where there is one machine."""

__all__ = ["CATALOG", "COORDINATOR", "GROUPS", "POLICIES", "PRODUCER_IDS", "RECEIPTS", "SCHEDULES", "SCHEMAS"]

CATALOG = "catalog"
COORDINATOR = "coordinator"
GROUPS = "groups"
POLICIES = "policies"
PRODUCER_IDS = "producer-ids"
RECEIPTS = "receipts"
SCHEDULES = "schedules"
SCHEMAS = "schemas"
