"""What tests, the demo and providers under test stand on: a real model server that answers as it is told."""
