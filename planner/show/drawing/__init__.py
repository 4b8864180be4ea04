"""What pictures of plans are made of: round values for axes, colours, boxes, and the shade of thin ones."""
