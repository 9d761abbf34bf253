package metric

// Unit is the base unit of a family.
type Unit string

// The units in use. The ones with a suffix in Suffix end the series name.
const (
	Bytes     Unit = "bytes"
	Seconds   Unit = "seconds"
	Timestamp Unit = "seconds since 1970-01-01 UTC"
	Celsius   Unit = "degrees Celsius"
	Watts     Unit = "watts"
	Joules    Unit = "joules"
	Hertz     Unit = "hertz"
	Ratio     Unit = "ratio, 0 to 1"
	Count     Unit = "count"
	Index     Unit = "index"
	State     Unit = "0 or 1"
	Info      Unit = "always 1"
)

// Suffix is what a series name of this unit ends with, before _total; "" where the unit has none.
func (u Unit) Suffix() string {
	switch u {
	case Bytes, Seconds, Watts, Joules, Hertz:
		return "_" + string(u)
	case Timestamp:
		return "_timestamp_seconds"
	case Celsius:
		return "_celsius"
	case Ratio:
		return "_ratio"
	case Info:
		return "_info"
	default:
		return ""
	}
}
