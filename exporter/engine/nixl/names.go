package nixl

// Names on the page of the telemetry, recorded from 1.5.1 and its backend for files. WRITE counts as sent and READ as received,
// also where the other end is a file of the same machine.
const (
	TxBytes       = "agent_tx_bytes_total"
	RxBytes       = "agent_rx_bytes_total"
	TxRequests    = "agent_tx_requests_num_total"
	RxRequests    = "agent_rx_requests_num_total"
	TransferTime  = "agent_xfer_time_total"         // microseconds
	Registered    = "agent_memory_registered_total" // bytes of memory and of files
	Deregistered  = "agent_memory_deregistered_total"
	Errors        = "agent_errors_total" // by status
	DroppedEvents = "agent_telemetry_events_dropped_total"
	LabelAgent    = "agent_name"
	LabelStatus   = "status"
)
