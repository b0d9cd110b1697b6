"""What `goqueue doctor` looks at: each file answers one question about this machine, folder or broker."""
