"""Published methods, each as its paper describes it."""
