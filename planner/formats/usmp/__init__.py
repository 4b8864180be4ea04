"""What TVM's Unified Static Memory Planner reads and gets."""
