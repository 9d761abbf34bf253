package view

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/summary"
)

// Runs that are exported as series, as by uma-load serve. The page of runs has all.
const runsPerCell, mostRuns = 10, 500

// openRuns serves the finished runs inside this process.
func (v *viewer) openRuns() error {
	v.results = promexport.New(v.runs, runsPerCell, mostRuns)
	v.results.MaxAge = min(v.results.MaxAge, v.runsInterval)
	b := build()
	served, err := promexport.Handler(v.results, promexport.Program{Version: b.Version, Revision: b.Revision, GoVersion: b.GoVersion}, v.log)
	if err != nil {
		return err
	}
	return v.serveInside(runsInside, served)
}

// runsPage lists the finished runs.
func (v *viewer) runsPage(w http.ResponseWriter, r *http.Request) {
	shown := v.results.Look()
	d := render.Document{Title: "Runs", Pages: bar(runsPath), RefreshSeconds: overviewRefresh}
	d.Add(render.Paragraph{Class: "lead", Spans: []render.Span{render.Plain(shown.Counts())}}, v.runLine(r.Context()))
	d.Add(v.missingRuns())
	d.Add(shown.Blocks(promexport.Addresses{Run: addressOfRun, Comparison: addressOfComparison})...)
	v.write(w, http.StatusOK, d)
}

// missingRuns is a notice if the folder of runs does not exist, which may be a mistyped one.
func (v *viewer) missingRuns() render.Block {
	if !v.lacksRuns() {
		return render.P()
	}
	return render.Notice(render.Note, render.Plain(v.runs+missingRunsText))
}

// missingRunsText follows the name of a folder.
const missingRunsText = " does not exist yet. uma-load run makes it; --runs names another folder."

func (v *viewer) lacksRuns() bool { return errors.Is(v.results.Check(), fs.ErrNotExist) }

// runPage shows the report of a run, drawn from its folder.
func (v *viewer) runPage(w http.ResponseWriter, r *http.Request) {
	found, known := v.results.Look().Run(r.PathValue("name"))
	if !known {
		v.absent(w, runsPath, "No such run", "There is no finished run of this name in "+v.runs+".")
		return
	}
	select {
	case v.drawing <- struct{}{}:
		defer func() { <-v.drawing }()
	case <-r.Context().Done():
		return
	}
	run, err := summary.Open(found.Folder)
	var page report.Page
	if err == nil {
		page, err = report.PageOf(run)
	}
	if err != nil {
		v.absent(w, runsPath, found.Name(), err.Error())
		return
	}
	d := page.Document()
	d.Pages = bar(runsPath)
	parameters := url.Values{"var-run": {found.Name()}, "var-host": {found.Host()}, "from": {strconv.FormatInt(run.Manifest.StartedAt.UnixMilli(), 10)}}
	if end := run.Manifest.EndedAt; end != nil {
		parameters.Set("to", strconv.FormatInt(end.UnixMilli(), 10))
	}
	d.Blocks = slices.Insert(d.Blocks, 0, render.Block(render.P(render.Link("This run on the dashboard Run detail", addressOfDashboard(dashboards.RunUID, parameters)))))
	d.Add(render.H2("Files"), v.fileList(found))
	v.write(w, http.StatusOK, d)
}

// fileList links to the files of a run.
func (v *viewer) fileList(r promexport.Run) render.Block {
	entries, err := os.ReadDir(r.Folder)
	if err != nil {
		return render.Small(err.Error())
	}
	table := render.Table{Header: []string{"File", "Size"}}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() {
			table.Rows = append(table.Rows, render.Row{Cells: []string{entry.Name(), format.Bytes(float64(info.Size()))}, Address: url.PathEscape(entry.Name())})
		}
	}
	return table
}

// plainFiles are the extensions of files that a browser shows as plain text. All others are downloads: somebody else may
// have written the folder, and a page in it must not run in this site.
var plainFiles = []string{".json", ".jsonl", ".log", ".md", ".txt", ".csv", ".yaml", ".prom"}

// runFile sends a file of a run.
func (v *viewer) runFile(w http.ResponseWriter, r *http.Request) {
	found, known := v.results.Look().Run(r.PathValue("name"))
	name := r.PathValue("file")
	if !known || name != filepath.Base(name) {
		v.absent(w, runsPath, "No such file", "There is no such file of a finished run.")
		return
	}
	file, info, err := openInside(found.Folder, name)
	if err != nil {
		v.log.Log(r.Context(), slog.LevelDebug, "file of a run", "why", err)
		v.absent(w, runsPath, "No such file", "The run "+found.Name()+" has no such file.")
		return
	}
	defer file.Close()
	kind := "application/octet-stream"
	if slices.Contains(plainFiles, strings.ToLower(filepath.Ext(name))) {
		kind = "text/plain; charset=utf-8"
	} else {
		w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	}
	w.Header().Set("Content-Type", kind)
	http.ServeContent(w, r, "", info.ModTime(), file.(io.ReadSeeker))
}

// openInside opens a regular file of a folder; links lead nowhere, and a pipe is not waited for.
func openInside(folder, name string) (fs.File, fs.FileInfo, error) {
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("no regular file")
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

// comparisonPage shows a saved comparison.
func (v *viewer) comparisonPage(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	c, err := v.results.Look().Comparison(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.absent(w, runsPath, "No such comparison", "There is no saved comparison of this name. uma-load compare --save makes one.")
		return
	case err != nil:
		v.absent(w, runsPath, name, err.Error())
		return
	}
	d := comparison.Document(name, c)
	d.Pages = bar(runsPath)
	v.write(w, http.StatusOK, d)
}
