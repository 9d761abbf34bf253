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

	BytesPerSecond    Unit = "bytes per second"
	TokensPerSecond   Unit = "tokens per second"
	RequestsPerSecond Unit = "requests per second"
	CountPerSecond    Unit = "count per second"
	Correlation       Unit = "correlation, -1 to 1"
	OfMetric          Unit = "that of the metric"
	Quotient          Unit = "candidate / baseline"
	Deviations        Unit = "standard deviations"
)

// Suffix is the end of a series name of this unit, before _total; "" where the unit has none.
func (u Unit) Suffix() string {
	switch u {
	case Bytes, Seconds, Watts, Joules, Hertz:
		return "_" + string(u)
	case Timestamp:
		return "_seconds" // after _timestamp or, as Prometheus's own process metrics have it, _start_time
	case Celsius:
		return "_celsius"
	case BytesPerSecond:
		return "_bytes_per_second"
	case TokensPerSecond:
		return "_tokens_per_second"
	case RequestsPerSecond:
		return "_requests_per_second"
	case CountPerSecond:
		return "_per_second"
	case Correlation:
		return "_correlation"
	case Ratio:
		return "_ratio"
	case Info:
		return "_info"
	default:
		return ""
	}
}
