//go:build !wasip1

package facts

// host is where facts come from in tests.
var host Host

// Bind makes these the functions that facts come from, and returns those before.
func Bind(functions Host) Host {
	before := host
	host = functions
	return before
}

func missing(interfaceName, function string) string {
	return "the function " + function + " of the interface " + interfaceName + " is called outside of an evaluation: only a predicate reads facts"
}
