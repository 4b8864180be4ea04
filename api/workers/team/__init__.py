"""One problem solved by a team: several runs that hear of each other's plans and bounds ([scale.md])."""
