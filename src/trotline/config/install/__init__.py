"""Install Trotline's entries in the configuration of agents."""
