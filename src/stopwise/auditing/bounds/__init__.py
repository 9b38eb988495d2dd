"""What right answers could still be: sharp bounds under assumptions, by linear programming."""
