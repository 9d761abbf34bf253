package dashboards

import "github.com/grafana/grafana-foundation-sdk/go/dashboard"

// Names of the pages that others lead to.
const (
	runPageName     = "run-detail"
	comparePageName = "compare-runs"
)

// linked makes the cells of a column, or the points of a series, lead to an address, in which Grafana fills
// in its variables.
func linked(title, url string) dashboard.DynamicConfigValue {
	return dashboard.DynamicConfigValue{Id: "links", Value: []map[string]any{{"title": title, "url": url, "targetBlank": false}}}
}

// toRun makes the cells of a column of runs lead to the page of the run, in the time in which it ran. The
// same line has to have columns of these titles with its start and end, in milliseconds.
func toRun(start, end string) dashboard.DynamicConfigValue {
	return linked("Details of the run", addressOfRun(start, end))
}

// addressOfRun is the address of the page of the run that a cell names.
func addressOfRun(start, end string) string {
	return "/d/" + tag + "-" + runPageName + during(start, end) + "&var-run=${__value.raw:percentencode}&${datasource:queryparam}&${host:queryparam}"
}

// during begins the parameters of an address: the time between two columns of the same line, in milliseconds.
func during(start, end string) string {
	return "?from=${__data.fields[" + quoted(start) + "].numeric}&to=${__data.fields[" + quoted(end) + "].numeric}"
}

// toPage leads to another page, in the same time and of the same host.
func toPage(name, title string) dashboard.DynamicConfigValue {
	return linked(title, "/d/"+tag+"-"+name+"?${__url_time_range}&${datasource:queryparam}&${host:queryparam}")
}

// leadingTo makes a number lead to a page.
func leadingTo(name, title string) []dashboard.DynamicConfigValue {
	return []dashboard.DynamicConfigValue{toPage(name, title)}
}

// quoted writes the title of a column as an index.
func quoted(title string) string { return `"` + title + `"` }
