package spec

// Program is a server program: how it is started, and where it serves HTTP.
type Program struct {
	// Command is its file name or its Python module, and Verb its first argument, "" if it has none.
	Command, Verb string
	// Flag and Variable set the port, in this order of precedence; "" where there is none.
	Flag, Variable string
	// Port is the documented default.
	Port uint16
	// ParsePort reads the value of Variable where it is more than a port; nil for a port. Usual is Port.
	ParsePort func(text string, usual uint16) (port uint16, known bool)
}
