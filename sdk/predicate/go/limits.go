package nodesift

// Limits of a verdict and of lines. The host refuses a verdict beyond its own limits, which are a little above these.
const (
	// maxFailures are the different failures in one verdict; the host accepts 4,096. What is beyond keeps its status alone, three
	// failures.
	maxFailures = 4093
	// maxReasonBytes are the bytes of all reasons of one verdict; the host accepts a megabyte, with what it counts for each.
	maxReasonBytes = 768 * 1024
	// reasonEntryBytes are the bytes that the host counts for a reason besides its text, at most.
	reasonEntryBytes = 32
	// maxReasonLength are the bytes of one reason. The host cuts reasons after these.
	maxReasonLength = 1024
	// maxErrorLength are the bytes of the text about a panic. The host cuts a line after 1,024.
	maxErrorLength = 1000
	// maxPlaces are the places of a stack that the text about a panic names.
	maxPlaces = 4
	// maxShown are the bytes of an argument that an error shows.
	maxShown = 40
	// maxDepth are the lists and objects of an argument inside of each other.
	maxDepth = 64
)
