package dashboards

// addressOfCandidate is the address of the comparison with the run of a cell as run B, in the time range of that run,
// which is that of the curves.
func addressOfCandidate(start, end string) string {
	return "/d/" + tag + "-" + comparePageName + during(start, end) + "&var-run_b=${__value.raw:percentencode}&${datasource:queryparam}&${host:queryparam}"
}

// Addresses of the page of comparisons from itself: they change one run and keep the other choices.
const (
	keepComparison   = "&${comparison:queryparam}&${candidate:queryparam}&${datasource:queryparam}&${host:queryparam}"
	addressOfOtherA  = "/d/" + tag + "-" + comparePageName + "?${__url_time_range}&var-run_a=${__value.raw:percentencode}&${run_b:queryparam}" + keepComparison
	runBKeepingRunA  = "&var-run_b=${__value.raw:percentencode}&${run_a:queryparam}" + keepComparison
	beginningOfOther = "/d/" + tag + "-" + comparePageName
)

// addressOfOtherB chooses another run B, and its time range.
func addressOfOtherB(start, end string) string {
	return beginningOfOther + during(start, end) + runBKeepingRunA
}
