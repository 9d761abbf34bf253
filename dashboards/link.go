package dashboards

// Names of the pages that are targets of links.
const (
	runPageName     = "run-detail"
	comparePageName = "compare-runs"
)

// UIDs of pages that other programs link to.
const (
	RunUID    = tag + "-" + runPageName
	MemoryUID = tag + "-" + memoryPageName
)

// path is one of the links of a cell.
type path struct{ title, address string }

// linked links the cells of a column, or the points of a series, to addresses, in which Grafana fills in its variables.
func linked(paths ...path) look {
	var links []map[string]any
	for _, p := range paths {
		links = append(links, map[string]any{"title": p.title, "url": p.address, "targetBlank": false})
	}
	return look{{Id: "links", Value: links}}
}

// toRun links the cells of a column of runs to the page of the run, in the time range of the run. The same line needs
// columns of these titles with its start and end, in milliseconds.
func toRun(start, end string) look {
	return linked(path{"Details of the run", addressOfRun(start, end)})
}

// addressOfRun is the address of the page of the run in a cell.
func addressOfRun(start, end string) string {
	return "/d/" + RunUID + during(start, end) + "&var-run=${__value.raw:percentencode}&${datasource:queryparam}&${host:queryparam}"
}

// during begins the parameters of an address: the time range between two columns of the same line, in milliseconds.
func during(start, end string) string {
	return "?from=${__data.fields[" + quoted(start) + "].numeric}&to=${__data.fields[" + quoted(end) + "].numeric}"
}

// toPage links to another page, with the same time range and host.
func toPage(name, title string) look {
	return linked(path{title, "/d/" + tag + "-" + name + "?${__url_time_range}&${datasource:queryparam}&${host:queryparam}"})
}

// addressOfFleet is the address of the page of all hosts, with the same time range.
const addressOfFleet = "/d/" + tag + "-" + fleetPageName + "?${__url_time_range}&${datasource:queryparam}"

// jobLabels is the page that says which labels the scrape jobs must set.
const jobLabels = "https://github.com/umascope/umascope/blob/main/alerts/README.md"

// runbook is the page that leads to what each alert means and what to do.
const runbook = "https://github.com/umascope/umascope/blob/main/alerts/runbooks.md"

// quoted writes the title of a column as an index.
func quoted(title string) string { return `"` + title + `"` }
