package demo

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/rundir"
)

// writeReport writes the page of a demo: the whole file, or none on an error.
func (p Program) writeReport(ctx context.Context, s *shown) error {
	page := s.page(ctx)
	return rundir.Folder(s.out).Write(reportName, func(w io.Writer) error { return WritePage(w, page) })
}

// page returns the content of the page. A part that cannot be read has the reason in its place, and the other parts
// stay.
func (s *shown) page(ctx context.Context) Page {
	page := Page{
		Made: Made{
			Command: s.command(), Begun: s.begun, Ended: s.ended,
			Quick: s.options.quick, Partial: s.interrupted,
		},
		Problems: s.noted(),
		Limits:   s.limits(ctx),
		Heat:     s.heat(ctx),
		Links:    []Link{s.link("everything that this demo has written", s.folder)},
	}
	for _, c := range s.campaigns {
		page.Campaigns = append(page.Campaigns, s.campaignPage(c))
	}
	page.Rehydration, page.Outputs = s.rehydration(), s.outputs()
	return page
}

// command returns the command line that repeats the demo.
func (s *shown) command() string {
	command := fmt.Sprintf("uma-demo --seed %d", s.options.seed)
	if s.options.quick {
		command += " --quick"
	}
	return command
}

// link links from the page to a file or a folder of the demo. A path outside of its folder gets no link.
func (s *shown) link(text, path string) Link {
	relative, err := filepath.Rel(s.out, path)
	if path == "" || err != nil || !filepath.IsLocal(relative) {
		return Link{Text: text}
	}
	return Link{Text: text, Address: "./" + filepath.ToSlash(relative)}
}

// typed returns a command line as it is typed in a shell.
func typed(args []string) string {
	words := []string{"uma-load"}
	for _, arg := range args {
		if arg == "" || strings.ContainsAny(arg, " \t\n'\"$&;|<>()*?[]{}\\") {
			arg = "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
		}
		words = append(words, arg)
	}
	return strings.Join(words, " ")
}

// campaignPage returns the content of a campaign for the page.
func (s *shown) campaignPage(c *shownCampaign) Campaign {
	page := c.Campaign
	page.Name, page.Design, page.Absent = c.label(), c.made(), s.absent(c.Comparison != nil)
	page.Links = []Link{s.link("the whole comparison", c.page), s.link("its runs", c.dir), s.link("its plan", c.plan)}
	for _, a := range c.accounts {
		page.Starts = append(page.Starts, a.page())
	}
	return page
}

// absent returns the reason why something is missing; empty if it is there.
func (s *shown) absent(there bool) string {
	switch {
	case !there && s.interrupted:
		return "the demo was ended before it was made"
	case s.interrupted:
		return "the demo was ended early, and this is what there was until then"
	}
	return "" // the page itself has a text for a missing part
}

// label returns the name of a campaign in figures.
func (c *shownCampaign) label() string {
	switch {
	case c.order == orderBlocks:
		return "blocks, as published"
	case c.dropsCaches:
		return "ABBA, cache emptied"
	}
	return "ABBA"
}

// made describes in a sentence how the runs of a campaign were made.
func (c *shownCampaign) made() string {
	cache := "what a run has read stays in the page cache for the next ones"
	if c.dropsCaches {
		cache = "the page cache is emptied before every start"
	}
	return fmt.Sprintf("On %s, %d runs of each arm; %s.", c.host, c.iterations, cache)
}

// cachedFiles returns the files that starts read, with their names on the page, in the order of the page.
func cachedFiles() []struct{ file, name string } {
	return []struct{ file, name string }{
		{weightsFile, "weights, as native reads them"},
		{imageFile, "layers of the image"},
		{containerWeightsFile, "the container’s own copy of the weights"},
		{homeFile, "files of users"},
	}
}

// page returns the content of an account for the page.
func (a account) page() Start {
	start := Start{Arm: a.arm, At: a.at, OccupiedWithoutKVBytes: float64(a.occupiedWithoutKVBytes), KVBytes: float64(a.kvBytes)}
	others := int64(0)
	for file, bytes := range a.cachedBytes {
		if !slices.ContainsFunc(cachedFiles(), func(known struct{ file, name string }) bool { return known.file == file }) {
			others += bytes
		}
	}
	for _, known := range cachedFiles() {
		start.Cached = append(start.Cached, Part{Name: known.name, Bytes: float64(a.cachedBytes[known.file])})
	}
	start.Cached = append(start.Cached, Part{Name: "other files", Bytes: float64(others)})
	return start
}
