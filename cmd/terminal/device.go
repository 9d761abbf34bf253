package terminal

import (
	"os"

	"golang.org/x/term"
)

// Is reports whether a stream, such as standard error, is a terminal: a person reads what is printed there. It is false
// for a stream that a service manager, a container or a script reads, and for /dev/null.
func Is(stream any) bool {
	file, is := stream.(*os.File)
	return is && term.IsTerminal(int(file.Fd()))
}

// Size returns the size of a terminal; that of a VT100 if it has none, as a serial line.
func Size(file *os.File) (columns, lines int) {
	columns, lines, err := term.GetSize(int(file.Fd()))
	if err != nil || columns == 0 || lines == 0 {
		return 80, 24
	}
	return columns, lines
}
