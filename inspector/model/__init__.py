"""The neutral run: frozen Structs and the protocol by which they are fetched. No IO."""
