"""What people see of tables and scans, on a terminal and on a page: whatever a table says is shown as text."""
