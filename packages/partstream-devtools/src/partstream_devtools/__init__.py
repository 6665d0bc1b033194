"""Shows what a stream does: recorder, inspector, bundles, replay server and conformance kit."""
