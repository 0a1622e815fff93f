"""Languages between the user's function and machine code: values that print themselves."""
