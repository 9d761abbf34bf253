package metric

const viewSource = "uma-view"

// The series of uma-view itself, on its own page.
var (
	ViewBuildInfo = gauge(Def{Name: "uma_view_build_info", Unit: Info, Sum: SumNever(), Labels: []Label{LabelVersion, LabelRevision, LabelGoVersion},
		Help: "Version of this uma-view.", Source: viewSource})
	ViewNoticesTotal = counter(Def{Name: "uma_view_notices_total", Unit: Count, Labels: []Label{LabelReceiver, LabelResult},
		Help: "Notices of alerts by webhook: sent, failed (the receiver refused the notice, or did not take it within 5 minutes) or dropped (limit). The receiver is scheme and host of its URL.", Source: viewSource})
)

func viewDefs() []Definer { return []Definer{ViewBuildInfo, ViewNoticesTotal} }

// Values of the label result of a notice.
const (
	NoticeSent    = "sent"
	NoticeFailed  = "failed"
	NoticeDropped = "dropped"
)
