"""Parts of pictures of plans: round values for axes, colours, boxes, and the shade of thin ones."""
