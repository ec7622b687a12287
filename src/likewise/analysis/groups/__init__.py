"""Several groups and intersections of groups: values, differences and disparities."""
