"""What imports PyTorch."""
