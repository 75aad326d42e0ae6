"""Going on with runs. `jobs` is the way in: a plan is made of a job, and driven. Nothing is imported here, since the
screen only asks for the names of the drivers until somebody resumes."""
