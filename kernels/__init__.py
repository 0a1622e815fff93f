"""Hand-written numerical code that knows no expression graph: vector mathematics and the native driver."""
