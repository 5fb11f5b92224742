"""Starting Spark: Java, the session and its settings, folders of this user, a quiet terminal."""
