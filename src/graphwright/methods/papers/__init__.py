"""Published methods, each as its paper describes it: one file a paper."""
