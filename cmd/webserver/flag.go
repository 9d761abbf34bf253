package webserver

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// AllowHost is the flag of Settings.AllowHosts.
const AllowHost = "web.allow-host"

const allowHostHelp = "Host name that the pages answer to; default: localhost on loopback, else all."

// AllowHostFlag declares the flag of a program or one of its verbs.
func AllowHostFlag(set interface {
	Flag(name, help string) *kingpin.FlagClause
}, into *[]string) {
	set.Flag(AllowHost, allowHostHelp).PlaceHolder("NAME").SetValue((*hosts)(into))
}

// hosts implements the value of the flag.
type hosts []string

// Set implements kingpin.Value.
func (h *hosts) Set(text string) error {
	name, err := parseHost(text)
	if err != nil {
		return fmt.Errorf("--%s: %w", AllowHost, err)
	}
	*h = append(*h, name)
	return nil
}

// String implements kingpin.Value.
func (h *hosts) String() string { return strings.Join(*h, " ") }

// IsCumulative lets the flag be repeated.
func (h *hosts) IsCumulative() bool { return true }
